"""Opens a folder with microsoft/DeBERTa and prints its logits for token ids, as JSON.  All tokens are targets."""
import json
import sys

import torch
from DeBERTa.apps.models.masked_language_model import MaskedLanguageModel
from DeBERTa.deberta.config import ModelConfig
from safetensors.torch import load_file

folder, ids = sys.argv[1], json.loads(sys.argv[2])
with open(folder + "/config.json") as file:
    model = MaskedLanguageModel(ModelConfig.from_dict(json.load(file))).eval()
missing, unexpected = model.load_state_dict(load_file(folder + "/model.safetensors"), strict=False)
tokens = torch.tensor([ids])
with torch.no_grad():
    logits = model(tokens, torch.ones_like(tokens), torch.ones_like(tokens))["logits"]
print(json.dumps({"logits": logits.tolist(), "missing": sorted(n for n in missing if "position_ids" not in n),
                  "unexpected": sorted(unexpected)}))
