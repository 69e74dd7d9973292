"""Rule → plan → layout: variables become axes, terms become indices, guards become masks."""

from residuum.grounding.conjunctions import conjunction as conjunction
from residuum.grounding.layouts import Layout as Layout
from residuum.grounding.layouts import lay_out as lay_out
from residuum.grounding.planning import plan_rule as plan_rule
from residuum.grounding.planning_together import lay_out_parts as lay_out_parts
from residuum.grounding.planning_together import plan_together as plan_together
from residuum.grounding.planning_together import without_quantifiers as without_quantifiers
from residuum.grounding.plans import Plan as Plan
from residuum.grounding.signatures import Signature as Signature
from residuum.grounding.signatures import refuse_misspelt as refuse_misspelt
from residuum.grounding.signatures import signature_of_knowledge as signature_of_knowledge
from residuum.grounding.signatures import signature_of_rule as signature_of_rule
from residuum.grounding.signatures import with_outputs as with_outputs
