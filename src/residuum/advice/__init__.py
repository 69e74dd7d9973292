"""Which relaxation to use for a user's own rules: measured, ranked, and explained in words."""

from residuum.advice.measuring import Measured as Measured
from residuum.advice.measuring import measure as measure
from residuum.advice.recommending import Advice as Advice
from residuum.advice.recommending import recommend as recommend
from residuum.advice.samples import Sample as Sample
from residuum.advice.samples import draw_samples as draw_samples
from residuum.advice.samples import read_sample as read_sample
from residuum.advice.studies import what_studies_found as what_studies_found
