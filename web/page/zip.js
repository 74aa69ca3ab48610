/* exported entriesOf */

// The content of those entries of a ZIP file that the module takes, for its reader. Errors are texts, as the module's own are.
const entriesOf = (bytes, takes) => {
  "use strict";
  // The size of the entries that are taken.
  let taken = 0;
  const filter = ({ name, size, originalSize }) => {
    const after = taken + Math.max(size, originalSize);
    const isTaken = takes(name, after, bytes.length);
    taken = isTaken ? after : taken;
    return isTaken;
  };
  try {
    return Object.entries(fflate.unzipSync(bytes, { filter })).map(([name, content]) => ({ name, content }));
  } catch (error) {
    throw typeof error === "string" ? error : error.message;
  }
};
