//! What is dumped is read back to the bit, and a stage that is wrong on purpose is told from the right one.
use locus_kit::Tensor;

fn scores(transposed: bool) -> Tensor {
    let values: Vec<f32> = (0..12).map(|n| (n as f32 * 0.37).sin()).collect();
    let cell = |i: usize, j: usize| if transposed { values[(j % 3) * 4 + (i + j) % 4] } else { values[i * 4 + j] };
    Tensor::f32(&[1, 1, 3, 4], &(0..12).map(|n| cell(n / 4, n % 4)).collect::<Vec<_>>())
}

#[test]
fn a_dump_is_read_back_to_the_bit() {
    let file = std::env::temp_dir().join(format!("locus-round-trip-{}.safetensors", std::process::id()));
    let index = Tensor::i64(&[2, 2], &[4, 3, 5, 4]);
    locus_kit::dump(&file, &[("layer.0.scores", scores(false)), ("relative.index", index.clone())]).unwrap();
    let back = locus_kit::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(back["layer.0.scores"].shape, [1, 1, 3, 4]);
    assert_eq!(back["layer.0.scores"].bytes, scores(false).bytes);
    assert_eq!(back["relative.index"].values().unwrap(), [4.0, 3.0, 5.0, 4.0]);
    assert_ne!(back["layer.0.scores"].bytes, scores(true).bytes);
}

#[test]
fn a_file_that_ends_early_is_refused() {
    let file = std::env::temp_dir().join(format!("locus-cut-{}.safetensors", std::process::id()));
    std::fs::write(&file, b"short").unwrap();
    let sentence = locus_kit::read(&file).err().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(sentence.contains("not a whole safetensors file"), "{sentence}");
}
