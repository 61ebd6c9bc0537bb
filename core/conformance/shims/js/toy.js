// A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
// usage: node toy.js CASE_FOLDER [DUMP_FILE] [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs
// Without a file the dump goes to standard output as frames; nothing is written for a case of another term.
const kit = require("./locus_kit.js");

function p2c(inputs, slip) {
  const {"layer.0.k": k, "layer.0.q_r": q_r, "relative.index": index} = inputs;
  if (!k || !q_r || !index) return null;
  const [batch, heads, keys, width] = k.shape, [queries] = index.shape, rows = q_r.shape[1];
  const term = new Float64Array(batch * heads * queries * keys);
  let cell = 0;
  for (let b = 0; b < batch; ++b)
    for (let h = 0; h < heads; ++h)
      for (let i = 0; i < queries; ++i)
        for (let j = 0; j < keys; ++j, ++cell) {
          const row = Number(index.data[slip ? j * queries + i : i * keys + j]);
          const key = ((b * heads + h) * keys + j) * width, query = (h * rows + row) * width;
          for (let c = 0; c < width; ++c) term[cell] += k.data[key + c] * q_r.data[query + c];
        }
  return {"layer.0.p2c": {shape: [batch, heads, queries, keys], data: term}};
}

async function main(options) {
  const [folder, target] = options.filter((option) => !option.startsWith("--"));
  if (!folder) throw new Error("usage: node toy.js CASE_FOLDER [DUMP_FILE] [--slip | --copy]");
  const {inputs} = await kit.loadCase(folder);
  const stages = options.includes("--copy") ? inputs : p2c(inputs, options.includes("--slip"));
  if (!stages) return;
  if (!target) process.stdout.write(Buffer.from(kit.frames(stages)));
  else kit.dump(target, stages);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`toy: ${error.message}`);
  process.exitCode = 3;
});
