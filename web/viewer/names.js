// The names of a report's weights: by the model if that is known, and by the file.
(() => {
  "use strict";

  viewer.weightNames = (report) => {
    const weights = report.weights || [];
    const methods = weights.flatMap((weight) => weight.users.map((user) => user.method));
    const several = new Set(methods.filter((method) => method !== undefined)).size > 1;
    const user = (user) =>
      user.key !== undefined ? viewer.name(user.key) : `${several ? `${viewer.name(user.method)}:` : ""}%${user.value}`;
    // A constant of a backend's node is named by its use, with its key in small letters.
    const uses = weights.flatMap((weight) => weight.inside || []);
    const delegates = new Set(uses.map((use) => `${use.method} ${use.delegate}`)).size;
    const within = (use) => {
      const method = several && use.method !== null ? `${viewer.name(use.method)} ` : "";
      const delegate = delegates > 1 && use.delegate !== null ? `delegate ${use.delegate} ` : "";
      return `${method}${delegate}${viewer.inside(use)}`;
    };
    const own = (weight) =>
      weight.inside?.length ? within(weight.inside[0]) : weight.users.length ? user(weight.users[0]) : "";
    const name = (weight) => weight.name || own(weight);
    const key = (weight) => (weight.inside?.length ? (weight.key ?? weight.users[0]?.key) : undefined);
    const form = (weight) =>
      weight.inside?.length
        ? viewer.insideShape(weight.inside[0])
        : viewer.shape(weight.users.find(viewer.shape)) || "blob";
    // The name by the file, where the model has another.
    const alias = (weight) => (weight.name && weight.name !== own(weight) ? own(weight) : undefined);
    return { user, within, own, name, alias, key, form };
  };
})();
