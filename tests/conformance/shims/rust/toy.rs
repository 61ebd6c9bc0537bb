//! A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
//! usage: toy CASE_FOLDER DUMP_FILE|- [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs
mod locus_kit;
use locus_kit::Tensor;
use std::io::Write;

fn p2c(case: &locus_kit::Case, slip: bool) -> Result<Tensor, String> {
    let find = |name: &str| case.inputs.get(name).ok_or(format!("the inputs hold no {name}"));
    let (k, q_r, index) = (find("layer.0.k")?, find("layer.0.q_r")?, find("relative.index")?);
    let [batch, heads, tokens, width] = k.shape[..] else { return Err("layer.0.k: four axes expected".into()) };
    let (rows, k, q_r, index) = (q_r.shape[1], k.values()?, q_r.values()?, index.values()?);
    let mut terms = Vec::new();
    for b in 0..batch {
        for h in 0..heads {
            for i in 0..tokens {
                for j in 0..tokens {
                    let row = index[if slip { j * tokens + i } else { i * tokens + j }] as usize;
                    let key = ((b * heads + h) * tokens + j) * width;
                    let query = (h * rows + row) * width;
                    terms.push((0..width).map(|c| k[key + c] * q_r[query + c]).sum());
                }
            }
        }
    }
    Ok(Tensor::f64(&[batch, heads, tokens, tokens], &terms))
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [folder, target, options @ ..] = arguments else { return Err("usage: toy CASE_FOLDER DUMP_FILE|- [--slip | --copy]".into()) };
    let option = |name: &str| options.iter().any(|o| o == name);
    let case = locus_kit::case(folder)?;
    let term = if option("--copy") { None } else { Some(p2c(&case, option("--slip"))?) };
    let stages: Vec<(&str, Tensor)> = match term {
        Some(term) => vec![("layer.0.p2c", term)],
        None => case.inputs.iter().map(|(name, t)| (name.as_str(), t.clone())).collect(),
    };
    if target != "-" { return locus_kit::dump(target, &stages) }
    std::io::stdout().write_all(&locus_kit::frames(&stages)).map_err(|e| format!("standard output: {e}"))
}

fn main() {
    if let Err(sentence) = run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        eprintln!("toy: {sentence}");
        std::process::exit(3);
    }
}
