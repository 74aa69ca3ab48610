// The bytes of a file as trees of boxes, by kind and by module. A box has a name, bytes, a colour, its parent, children if it has parts, a
// note, and `open` if a view shows it.
(() => {
  "use strict";
  const { grouped, isKnown, shape } = viewer;

  // Adds to a box a part that has none itself, and its bytes to all boxes around it.
  function addLeaf(parent, key, leaf) {
    parent.children.set(key, { ...leaf, parent });
    for (let box = parent; box; box = box.parent) box.bytes += leaf.bytes;
  }

  function childOf(parent, name, color) {
    if (!parent.children.has(name)) parent.children.set(name, { name, bytes: 0, children: new Map(), color, parent });
    return parent.children.get(name);
  }

  // Children as a list, the largest first.
  function sortChildren(box) {
    if (!box.children) return;
    const children = [...box.children.values()].sort((left, right) => right.bytes - left.bytes);
    children.forEach(sortChildren);
    // A kind with only one piece, which has no name, is that piece.
    const isOnlyItself = children.length === 1 && children[0].name === box.name;
    box.children = children.length && !isOnlyItself ? children : undefined;
  }

  function noteOf(part) {
    const place = part.offset === undefined ? viewer.count(part.pieces, "place") : `at byte ${grouped(part.offset)}`;
    return part.users?.length > 1 ? `${place}, ${part.users.length} users` : place;
  }

  // Weights that nodes inside delegates use, by where they are stored: with a key, or in a payload.
  function delegatedWeights(weights) {
    const placed = weights.filter((weight) => weight.inside?.length && isKnown(weight.offset));
    const byOffset = (left, right) => left.offset - right.offset;
    const named = placed.filter((weight) => weight.kind === "named");
    return {
      named: new Map(named.map((weight) => [weight.offset, weight])),
      packed: placed.filter((weight) => weight.kind === "delegate_constant").sort(byOffset),
    };
  }

  // Names for users and delegates, which have the method's name only if there are several.
  function userNames(parts) {
    const users = parts.flatMap((part) => part.users || []);
    const methods = new Set(users.map((user) => user.method).filter((method) => method !== undefined));
    const several = methods.size > 1;
    const delegate = (method, index) => `${several ? `${viewer.name(method)} ` : ""}delegate ${index}`;
    const user = ({ key, method, id, index, value }) => {
      if (isKnown(key)) return key;
      if (method === undefined) return "";
      if (id !== undefined) return delegate(method, index);
      return `${several ? `${viewer.name(method)}:` : ""}%${value}`;
    };
    return { delegate, user };
  }

  function delegateIds(parts) {
    const users = parts.filter((part) => part.kind === "delegate").flatMap((part) => part.users || []);
    return new Map(users.map(({ method, index, id }) => [`${method} ${index}`, id]));
  }

  function weightLeaf(weight, size) {
    const [use] = weight.inside;
    const others = weight.inside.length > 1 ? `, ${weight.inside.length} uses` : "";
    return {
      name: `${weight.name || viewer.inside(use)} ${viewer.insideShape(use)}`,
      open: viewer.has("weights") && weight.name ? () => viewer.open("weights", weight.name) : undefined,
      bytes: size,
      color: viewer.colors[weight.kind === "named" ? "named" : "delegate"],
      note: `at byte ${grouped(weight.offset)}${others}`,
    };
  }

  // The name of a part that is no weight of a delegate.
  function partName(part, user) {
    const [first] = part.users || [];
    const what = first ? `${first.name ? `${first.name} ` : ""}${user(first)} ${shape(first)}`.trim() : "";
    const names = [part.name === what.split(" ")[0] ? "" : part.name, part.detail, what];
    return names.filter(Boolean).join(" ") || part.kind;
  }

  // Kinds, then their parts: by delegate or table, by tensor.
  viewer.kindTree = (size, weights) => {
    const root = { name: "file", bytes: 0, children: new Map(), color: "#eeeeee" };
    const { named, packed } = delegatedWeights(weights);
    const names = userNames(size.parts);
    const ids = delegateIds(size.parts);

    const kindBox = (kind) => {
      const box = childOf(root, kind, viewer.colors[kind] || "#cccccc");
      box.note = viewer.kinds[kind];
      return box;
    };
    const delegateBox = (method, index, id) => {
      const kind = kindBox("delegate");
      const box = childOf(kind, `${names.delegate(method, index)}${id ? ` ${id}` : ""}`, kind.color);
      box.note ??= "a delegate, with the weights of its nodes";
      return box;
    };
    // Data that nodes of a delegate use is in the delegate's box, wherever in the file its bytes are.
    const addNamed = (weight, part, index) => {
      const { method, delegate } = weight.inside[0];
      const box = delegateBox(method, delegate, ids.get(`${method} ${delegate}`));
      addLeaf(box, `weight ${index}`, weightLeaf(weight, part.size));
    };
    const addPayload = (part, index) => {
      const [user] = part.users;
      const box = delegateBox(user.method, user.index, part.name);
      let rest = part.size;
      for (const [number, weight] of packed.entries()) {
        if (part.offset === undefined || weight.offset < part.offset) continue;
        if (weight.offset + weight.size > part.offset + part.size) continue;
        addLeaf(box, `weight ${index} ${number}`, weightLeaf(weight, weight.size));
        rest -= weight.size;
      }
      if (rest <= 0) return;
      addLeaf(box, index, { name: part.detail || "payload", bytes: rest, color: box.color, note: noteOf(part) });
    };

    size.parts.forEach((part, index) => {
      const weight = part.kind === "named" && part.offset !== undefined ? named.get(part.offset) : undefined;
      if (weight) addNamed(weight, part, index);
      else if (part.kind === "delegate" && part.users?.length) addPayload(part, index);
      else {
        const { color } = kindBox(part.kind);
        const leaf = { name: partName(part, names.user), bytes: part.size, color, note: noteOf(part) };
        addLeaf(kindBox(part.kind), index, leaf);
      }
    });
    sortChildren(root);
    return root;
  };

  function moduleBox(module, index, parent) {
    const isKnownModule = module.path !== null;
    return {
      name: isKnownModule ? module.path || "the modules" : "of no module, or not known",
      bytes: module.total,
      children: [],
      color: isKnownModule ? `hsl(${(index * 47) % 360} 45% 80%)` : viewer.colors.padding,
      note: isKnownModule ? viewer.count(module.count, "blob") : "tables, payloads and padding",
      parent,
    };
  }

  // Modules, then their weights.
  viewer.moduleTree = (size, modules, weights) => {
    const root = { name: "file", bytes: size.file_size, children: [], color: "#eeeeee" };
    const stored = weights.filter((weight) => weight.module !== undefined && weight.kind !== "external");
    const byModule = new Map(stored.map((weight) => [weight.module, []]));
    for (const weight of stored) byModule.get(weight.module).push(weight);
    // The latest box of each depth.
    const boxes = [];
    modules.forEach((module, index) => {
      const parent = module.depth ? boxes[module.depth - 1] : root;
      const box = moduleBox(module, index, parent);
      boxes[module.depth] = box;
      parent.children.push(box);
      let rest = module.own;
      for (const weight of byModule.get(module.path) || []) {
        if (weight.size > rest) continue;
        rest -= weight.size;
        box.children.push({
          name: weight.name || weight.module,
          bytes: weight.size,
          color: viewer.colors[weight.kind] || viewer.colors.delegate,
          note: "a weight",
          parent: box,
          open: () => viewer.open("weights", weight.name),
        });
      }
      if (rest <= 0 || !box.children.length) return;
      const { program: color } = viewer.colors;
      box.children.push({ name: "the rest", bytes: rest, color, note: "payloads of its delegates", parent: box });
    });
    sortChildren(root);
    return root;
  };
})();
