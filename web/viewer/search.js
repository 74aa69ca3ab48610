// One search for all views.
(() => {
  "use strict";

  // The view and the argument for an offset, a value or an instruction, a weight, a node, or an operator.
  viewer.find = (report, text) => {
    const words = text.trim();
    if (!words) return undefined;
    if (/^(0x[0-9a-f]+|\d+)$/i.test(words)) return findOffset(report, Number(words));
    if (/^(%\d+|instruction \d+|node \d+)$/i.test(words) && viewer.has("graph")) return ["graph", words.toLowerCase()];
    const lower = words.toLowerCase();
    const equals = (name) => viewer.isKnown(name) && String(name).toLowerCase() === lower;
    const includes = (name) => viewer.isKnown(name) && String(name).toLowerCase().includes(lower);
    return (
      findWeight(report, equals) ||
      findOperator(report, equals, words) ||
      findWeight(report, includes) ||
      findNode(report, includes, words)
    );
  };

  function findOffset(report, offset) {
    if (viewer.has("bytes")) return ["bytes", `${report.main ?? 0}:${offset}`];
    const weight = report.weights?.find(({ offset: start, size }) => start <= offset && offset < start + size);
    return weight && ["weights", viewer.weightNames(report).name(weight)];
  }

  function findWeight(report, matches) {
    const weight = report.weights?.find(({ name, key }) => matches(name) || matches(key));
    return weight && ["weights", viewer.weightNames(report).name(weight)];
  }

  function findOperator(report, matches, words) {
    const found = report.operators?.operators.some(({ name }) => matches(name));
    return found && viewer.has("graph") ? ["graph", words] : undefined;
  }

  function findNode(report, matches, words) {
    const inNode = ({ label, title, name, module }) => [label, title, name, module].some(matches);
    const found = report.graphs?.some((graph) => graph.nodes.some(inNode));
    return found && viewer.has("graph") ? ["graph", words] : undefined;
  }
})();
