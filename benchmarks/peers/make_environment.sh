#!/bin/sh
# Makes a virtual environment with the packages that benchmarks compare residuum with, and with the
# same PyTorch: make_environment.sh PYTHON FOLDER. PiShield's wheel does not name three packages that
# it imports: Matplotlib, pytest and SciPy.
set -e
python=$1
folder=$2
here=$(dirname "$0")
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  --constraint "$here/../../constraints.txt" --requirement "$here/requirements.txt"
