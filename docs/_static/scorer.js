// Order of the search results: words of the glossary, then guides, examples and the reference.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score, , kind]) => {
    if (kind === "index") return score > 90 ? 100 : 3; // a part of another word is a weak match
    if (kind === "object") return score > 25 ? 6 : 3; // a name as a whole, or a part of it
    if (/^(changelog|contributing|coverage|errata|sources|stability|formulas|options)$/.test(page)) return score - 3;
    if (/^api/.test(page)) return score - 2;
    return /^(advice|showcase|study-|tutorial-|audit-|abba-)/.test(page) ? score - 1 : score;
  },
};
