//! A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
//! usage: toy CASE_FOLDER [DUMP_FILE] [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs
//! Without a file the dump goes to standard output as frames; nothing is written for a case of another term.
mod locus_kit;
use locus_kit::Tensor;
use std::io::Write;

fn p2c(case: &locus_kit::Case, slip: bool) -> Result<Tensor, String> {
    let (k, q_r, index) = (&case.inputs["layer.0.k"], &case.inputs["layer.0.q_r"], &case.inputs["relative.index"]);
    let [batch, heads, keys, width] = k.shape[..] else { return Err("layer.0.k: four axes expected".into()) };
    let (queries, rows, k, q_r, index) = (index.shape[0], q_r.shape[1], k.values()?, q_r.values()?, index.values()?);
    let mut terms = Vec::new();
    for b in 0..batch {
        for h in 0..heads {
            for i in 0..queries {
                for j in 0..keys {
                    let row = index[if slip { j * queries + i } else { i * keys + j }] as usize;
                    let key = ((b * heads + h) * keys + j) * width;
                    let query = (h * rows + row) * width;
                    terms.push((0..width).map(|c| k[key + c] * q_r[query + c]).sum());
                }
            }
        }
    }
    Ok(Tensor::f64(&[batch, heads, queries, keys], &terms))
}

fn run(arguments: &[String]) -> Result<(), String> {
    let option = |name: &str| arguments.iter().any(|o| o == name);
    let files: Vec<&String> = arguments.iter().filter(|o| !o.starts_with("--")).collect();
    let folder = files.first().ok_or("usage: toy CASE_FOLDER [DUMP_FILE] [--slip | --copy]")?;
    let case = locus_kit::case(folder)?;
    let known = ["layer.0.k", "layer.0.q_r", "relative.index"].iter().all(|name| case.inputs.contains_key(*name));
    let stages: Vec<(&str, Tensor)> = match (option("--copy"), known) {
        (true, _) => case.inputs.iter().map(|(name, t)| (name.as_str(), t.clone())).collect(),
        (_, true) => vec![("layer.0.p2c", p2c(&case, option("--slip"))?)],
        _ => return Ok(()),
    };
    match files.get(1) {
        Some(target) => locus_kit::dump(target, &stages),
        None => std::io::stdout().write_all(&locus_kit::frames(&stages)).map_err(|e| format!("standard output: {e}")),
    }
}

fn main() {
    if let Err(sentence) = run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        eprintln!("toy: {sentence}");
        std::process::exit(3);
    }
}
