"""The field's own tasks: pages of code in `examples/field`, one runner, and records of what came.

A page says what a task is (`Task`) and how one run of it learns; this package runs it for every
method and seed, keeps records in the store, and makes tables beside published figures.
"""

from residuum.field.citation_networks import CitationNetwork as CitationNetwork
from residuum.field.citation_networks import load_citations as load_citations
from residuum.field.comparing import Comparison as Comparison
from residuum.field.comparing import compare_tasks as compare_tasks
from residuum.field.finding import find_task as find_task
from residuum.field.finding import find_tasks as find_tasks
from residuum.field.finding import task_names as task_names
from residuum.field.page import tables_page as tables_page
from residuum.field.running import DivergedError as DivergedError
from residuum.field.running import Run as Run
from residuum.field.running import plan as plan
from residuum.field.running import run_all as run_all
from residuum.field.tables import TaskTable as TaskTable
from residuum.field.tables import tables_of as tables_of
from residuum.field.task import Measure as Measure
from residuum.field.task import Published as Published
from residuum.field.task import Task as Task
from residuum.study.digits.data.images import Images as Images
from residuum.study.digits.data.images import load_images as load_images
