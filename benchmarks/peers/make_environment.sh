#!/bin/sh
# Makes a virtual environment with the packages that benchmarks compare residuum with, and with the
# same PyTorch: make_environment.sh PYTHON FOLDER. PiShield's wheel does not name three packages that
# it imports: Matplotlib, pytest and SciPy. DeepProbLog is installed without what it names: torchvision,
# which only its examples need, wants another PyTorch.
set -e
python=$1
folder=$2
here=$(dirname "$0")
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  --constraint "$here/../../constraints.txt" --requirement "$here/requirements.txt"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  deepproblog==2.1.0 problog==2.3.0
