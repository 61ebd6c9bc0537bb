// Where a program under node finds ICU's tables: emscripten hides the machine's environment from it.
Module["preRun"] = () => { ENV["ICU_DATA"] = process.env["ICU_DATA"]; };

// The files of the browser's program lie in /locus; here that is the folder LOCUS_TREE, if there is one.
if (process.env["LOCUS_TREE"]) {
  const files = require("fs");
  for (const call of ["openSync", "statSync", "lstatSync", "readdirSync", "realpathSync", "accessSync"]) {
    const own = files[call];
    files[call] = (path, ...more) => own(`${path}`.startsWith("/locus/") ? process.env["LOCUS_TREE"] + path.slice(6) : path, ...more);
  }
}
