/* exported entriesOf */

// The content of those entries of a ZIP file that the module takes, for its reader. Errors are texts, as the module's own are.
const entriesOf = (bytes, takes) => {
  "use strict";
  const filter = ({ name, originalSize }) => takes(name, originalSize, bytes.length);
  try {
    return Object.entries(fflate.unzipSync(bytes, { filter })).map(([name, content]) => ({ name, content }));
  } catch (error) {
    throw typeof error === "string" ? error : error.message;
  }
};
