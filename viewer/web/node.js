// Under node the source tree is four folders up from the program: it holds ICU's tables, which the environment names on a
// desktop, and stands for /locus, where the browser's program has its files.
{
  const files = require("fs"), tree = require("path").resolve(__dirname, "../../../..");
  Module["preRun"] = () => { ENV["ICU_DATA"] = `${tree}/build/web/root/share/icu`; };
  for (const call of ["openSync", "statSync", "lstatSync", "readdirSync", "realpathSync", "accessSync"]) {
    const own = files[call];
    files[call] = (path, ...more) => own(`${path}`.startsWith("/locus/") ? tree + path.slice(6) : path, ...more);
  }
}
