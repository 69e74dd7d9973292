// Rule files to begin with.
export const RULE_EXAMPLES = {
  "next digit": `domain digit = 0..4
predicate Digit(digit)
predicate Next(digit)

rule next: forall d in digit: Digit(d) -> Next((d + 1) mod 5)
`,
  "smokers": `domain person = ann, bob, eve
predicate Smokes(person) independent
predicate Friends(person, person) independent

rule spreads: forall x, y in person where x != y:
    Friends(x, y) & Smokes(x) -> Smokes(y)
rule mutual weight 0.5: forall x, y in person where x < y:
    Friends(x, y) <-> Friends(y, x)
`,
  "chunks": `domain position sequence
domain tag = "B-NP", "I-NP", "B-VP", "I-VP", O
predicate Tag(position, tag)

rule no_jump: forall i in position:
    Tag(i, "B-NP") -> ~Tag(i + 1, "I-VP")
rule after_outside: forall i in position:
    Tag(i, O) -> ~Tag(i + 1, "I-NP") & ~Tag(i + 1, "I-VP")
`,
};
