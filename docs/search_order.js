// How hits of the search are ordered: the section that is asked for, then its page; how things
// are made and measured comes late, history last.
var Scorer = {
  score: ([docname, title, , , score, , kind]) => {
    if (kind === "title") score += 25;
    if (docname === "start/questions") score += 6;
    if (kind === "object" && title.includes("CompiledRule.")) score += 3;
    if (/^(start|cookbook|guide)\//.test(docname)) score += 3;
    if (/^studies\//.test(docname)) score -= 6;
    if (docname === "guide/ltn") score -= 6; // it has a word of everything
    if (/^inside\//.test(docname)) score -= 30;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
