"""Opens a folder with transformers and prints what it makes of a text, as JSON."""
import json
import sys

import torch
from transformers import DebertaV2ForMaskedLM, DebertaV2Tokenizer, logging

logging.set_verbosity_error()
folder, text = sys.argv[1:]
tokenizer = DebertaV2Tokenizer.from_pretrained(folder)
model, report = DebertaV2ForMaskedLM.from_pretrained(folder, output_loading_info=True)
ids = tokenizer(text)["input_ids"]
with torch.no_grad():
    logits = model.eval()(torch.tensor([ids])).logits[0]
tied = model.get_input_embeddings().weight.shape[0]
print(json.dumps({"ids": ids, "logits": logits.tolist(), "words": tied,
                  "missing": sorted(report["missing_keys"]), "unexpected": sorted(report["unexpected_keys"])}))
