// Locus kit in JavaScript, node and browser, no packages: read a case, write a dump.  Copy this file into your project.
//   const kit = require("./locus_kit.js")                      // in a page: <script src="locus_kit.js">, then locusKit
//   const c = await kit.loadCase("kit/cases/L1/p2c")           // folder, or address: c.config, c.inputs["layer.0.k"].data
//   const bytes = kit.safetensors({"layer.0.p2c": {shape: [2, 3, 6, 6], data: Float32Array}})     // an ArrayBuffer
//   kit.dump("dumps/L1/p2c.safetensors", {...})                // node; in a page offer `bytes` for download
//   process.stdout.write(Buffer.from(kit.frames({...})))       // the same as a stream: name\0dtype\0shape\0bytes
// F16 and BF16 are Uint16Arrays and need their dtype: {dtype: "F16", shape, data}.
const locusKit = (() => {
  const arrays = {F64: Float64Array, F32: Float32Array, I64: BigInt64Array, I32: Int32Array, F16: Uint16Array, BF16: Uint16Array};
  const utf8 = (text) => new TextEncoder().encode(text);
  const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  function dtypeOf(name, tensor) {
    const dtype = tensor.dtype || Object.keys(arrays).slice(0, 4).find((key) => tensor.data instanceof arrays[key]);
    if (!dtype || !(tensor.data instanceof arrays[dtype])) throw new Error(`${name}: no typed array of its dtype`);
    if (tensor.shape.reduce((a, b) => a * b, 1) === tensor.data.length) return dtype;
    throw new Error(`${name}: ${tensor.data.length} values do not fill the shape [${tensor.shape}]`);
  }
  function joined(parts) {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    return all.buffer;
  }
  function parse(buffer, location = "buffer") {
    try {
      const tensors = {};
      const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
      const {__metadata__, ...header} = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
      for (const [name, {dtype, shape, data_offsets: [begin, end]}] of Object.entries(header))
        tensors[name] = {dtype, shape, data: new arrays[dtype](new Uint8Array(buffer, start + begin, end - begin).slice().buffer)};
      return tensors;
    } catch (error) { throw new Error(`${location}: not a whole safetensors file of floats and 32 or 64-bit integers`); }
  }
  function safetensors(stages) {
    let header = {}, end = 0;
    for (const [name, tensor] of Object.entries(stages))
      header[name] = {dtype: dtypeOf(name, tensor), shape: tensor.shape, data_offsets: [end, end += tensor.data.byteLength]};
    const text = utf8(JSON.stringify(header)), values = Object.values(stages).map((tensor) => bytesOf(tensor.data));
    return joined([bytesOf(BigUint64Array.of(BigInt(text.length))), text, ...values]);
  }
  const frames = (stages) => joined(Object.entries(stages).flatMap(([name, tensor]) =>
    [utf8(`${name}\0${dtypeOf(name, tensor)}\0${tensor.shape}\0`), bytesOf(tensor.data)]));
  async function load(location) {
    if (typeof require !== "undefined") return new Uint8Array(require("fs").readFileSync(location)).buffer;
    const answer = await fetch(location);
    if (answer.ok) return answer.arrayBuffer();
    throw new Error(`${location}: ${answer.status} ${answer.statusText}`);
  }
  async function loadCase(folder) {
    const {config = {}} = JSON.parse(new TextDecoder().decode(await load(`${folder}/case.json`)));
    return {config, inputs: parse(await load(`${folder}/inputs.safetensors`), `${folder}/inputs.safetensors`)};
  }
  function dump(file, stages) {
    const fs = require("fs"), bytes = safetensors(stages);
    fs.mkdirSync(require("path").dirname(file), {recursive: true});
    fs.writeFileSync(`${file}.part`, new Uint8Array(bytes));
    fs.renameSync(`${file}.part`, file);
  }
  return {loadCase, parse, safetensors, frames, dump};
})();
if (typeof module !== "undefined") module.exports = locusKit;
