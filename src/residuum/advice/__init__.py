"""Which relaxation to use for a user's own rules: rehearsed, and explained in words."""

from residuum.advice.advising import Consultation as Consultation
from residuum.advice.advising import read_given as read_given
from residuum.advice.fitting import fit as fit
from residuum.advice.measuring import Measured as Measured
from residuum.advice.measuring import measure as measure
from residuum.advice.recommending import Advice as Advice
from residuum.advice.recommending import recommend as recommend
from residuum.advice.rehearsing import Rehearsal as Rehearsal
from residuum.advice.rehearsing import Rehearsed as Rehearsed
from residuum.advice.samples import Sample as Sample
from residuum.advice.samples import draw_samples as draw_samples
from residuum.advice.samples import read_sample as read_sample
from residuum.advice.studies import what_studies_found as what_studies_found
from residuum.advice.traps import Trap as Trap
