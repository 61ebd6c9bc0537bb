"""Real ports under the torch shim: Hugging Face's models.
usage: real_port.py FOLDER      writes FOLDER/model, a small random DeBERTa-v2, FOLDER/inputs.safetensors and, as dumps,
<dtype>.safetensors of four dtypes, and tanh_<dtype>.safetensors: with torch.nn.functional.gelu patched to tanh
   or: real_port.py FOLDER CASE...      runs recorded cases (DeBERTa-v2, RoFormer, XLNet), dumps FOLDER/<case>.safetensors"""
import functools, pathlib, sys
import torch, transformers
import locus_kit, locus_torch

def random_model():
    """Sizes that differ, log buckets beyond the table's middle, no bias at zero and no norm at one."""
    torch.manual_seed(39)
    config = transformers.DebertaV2Config(
        vocab_size=29, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        max_position_embeddings=32, position_buckets=8, relative_attention=True, max_relative_positions=-1,
        pos_att_type="p2c|c2p", norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False)
    model = transformers.DebertaV2Model(config)
    for name, weights in model.named_parameters():
        noise = torch.randn(weights.shape)
        centre, spread = (1, 0.2) if name.endswith("LayerNorm.weight") else (0, 0.1) if name.endswith("bias") else (0, 0.2)
        weights.data = centre + spread * noise
    return model

def dump_pass(folder, name, inputs, dtype):
    model = transformers.DebertaV2Model.from_pretrained(f"{folder}/model", attn_implementation="eager").to(dtype).eval()
    with torch.no_grad(), locus_torch.capture(model) as stages:
        model(input_ids=inputs["tokens"], attention_mask=inputs["mask"])
    locus_torch.dump(f"{folder}/{name}.safetensors", stages)

def dump_recorded(folder, case):
    """One case of folders model/ and inputs.safetensors, in float32."""
    name, = transformers.AutoConfig.from_pretrained(f"{case}/model").architectures
    model = getattr(transformers, name).from_pretrained(f"{case}/model", attn_implementation="eager").float().eval()
    names = {"tokens": "input_ids", "mask": "attention_mask", "token_types": "token_type_ids"}
    given = {name: torch.tensor(tensor.lists()) for name, tensor in locus_kit.read(f"{case}/inputs.safetensors").items()}
    with torch.no_grad(), locus_torch.capture(model) as stages:
        model(**{names.get(name, name): values if name in names else values.float() for name, values in given.items()})
    locus_torch.dump(f"{folder}/{pathlib.Path(case).name}.safetensors", stages)

def dump_random(folder):
    random_model().save_pretrained(f"{folder}/model")
    mask = torch.ones(2, 21, dtype=torch.int64)
    mask[1, 17:] = 0
    inputs = {"tokens": torch.randint(3, 29, mask.shape) * mask, "mask": mask}
    locus_torch.dump(f"{folder}/inputs.safetensors", inputs)
    for name in ("float64", "float32", "float16", "bfloat16"): dump_pass(folder, name, inputs, getattr(torch, name))
    torch.nn.functional.gelu = functools.partial(torch.nn.functional.gelu, approximate="tanh")
    for name in ("float64", "float32"): dump_pass(folder, f"tanh_{name}", inputs, getattr(torch, name))

if __name__ == "__main__":
    if len(sys.argv) < 2: sys.exit(__doc__)
    transformers.logging.set_verbosity_error()
    try:
        for case in sys.argv[2:]: dump_recorded(sys.argv[1], case)
        if len(sys.argv) == 2: dump_random(sys.argv[1])
    except (OSError, locus_kit.KitError) as error: sys.exit(f"real port: {error}")
