"""Who smokes, who has cancer and who are friends: facts and rules that contradict each other."""

import ltn
import torch


class Of(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *people):
        return self.network(torch.cat(people, 1)).sigmoid()


def train(people, batches):
    S, C, F = (ltn.Predicate(Of(one)) for one in (people.smokes, people.cancer, people.friends))
    And = ltn.Connective(ltn.fuzzy_ops.AndProd())
    Not = ltn.Connective(ltn.fuzzy_ops.NotStandard())
    Implies = ltn.Connective(ltn.fuzzy_ops.ImpliesReichenbach())
    Exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    SatAgg = ltn.fuzzy_ops.SatAgg()
    optimizer = torch.optim.Adam(people.parameters(), lr=0.001)
    for epoch, (smokes, cancer, friends) in batches:
        # A fact is about a variable of those it is said of, not about one constant after the other.
        vectors = people.vectors
        smoker = ltn.Variable("smoker", vectors[smokes == 1])
        nonsmoker = ltn.Variable("nonsmoker", vectors[smokes == 0])
        ill = ltn.Variable("ill", vectors[cancer == 1])
        healthy = ltn.Variable("healthy", vectors[cancer == 0])
        one, other = (friends == 1).nonzero(as_tuple=True)
        a, b = ltn.Variable("a", vectors[one]), ltn.Variable("b", vectors[other])
        one, other = (friends == 0).nonzero(as_tuple=True)
        c, d = ltn.Variable("c", vectors[one]), ltn.Variable("d", vectors[other])
        x, y = ltn.Variable("x", vectors), ltn.Variable("y", vectors)
        loss = 1.0 - SatAgg(
            Forall(ltn.diag(a, b), F(a, b)),
            Forall(ltn.diag(c, d), Not(F(c, d))),
            Forall(smoker, S(smoker)),
            Forall(nonsmoker, Not(S(nonsmoker))),
            Forall(ill, C(ill)),
            Forall(healthy, Not(C(healthy))),
            Forall(x, Not(F(x, x)), p=5),
            Forall([x, y], Implies(F(x, y), F(y, x)), p=5),
            Forall(x, Exists(y, F(x, y), p=1 if epoch <= 200 else 6)),
            Forall([x, y], Implies(And(F(x, y), S(x)), S(y))),
            Forall(x, Implies(S(x), C(x))),
            Forall(x, Implies(Not(S(x)), Not(C(x)))),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
