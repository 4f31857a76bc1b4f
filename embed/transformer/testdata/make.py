"""Makes the two tiny models of this folder and the vectors that PyTorch computes with them.

Needs numpy, torch, transformers, tokenizers, safetensors and sentencepiece. Weights are random, of a fixed
seed, and rounded to half floats before the reference is computed.
"""
import io, json, os, shutil, tempfile
import sentencepiece as spm
import torch
from safetensors.torch import save_file
from sentencepiece import sentencepiece_model_pb2 as pb
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

TEXTS = ["The deploy pipeline restarts.", "how do I restart it?", "naïve CAFÉ Ünïcode", "中文 and 日本 words", "unknownlongword xyzzy", "a", "...", "",
         "ﬁne ① Ａ　b", "tab\tnew\nline", "e\u0301 a\u0308", "\u200bzero\u00adwidth\u0000", "한국어 여기", "🎉 party", "word " * 60, "x" * 120 + " end", "Straße İstanbul ΑΣ"]
here = os.path.dirname(os.path.abspath(__file__))

def half(model):
    g = torch.Generator().manual_seed(20)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_((torch.randn(p.shape, generator=g) * (0.3 if p.dim() > 1 else 0.1) + (1 if name.endswith("LayerNorm.weight") else 0)).half().float())
    return model.eval()

def write(name, model, tok, limit, extra):
    folder = os.path.join(here, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    drop = ("pooler", "position_ids")
    save_file({k: v.half().contiguous() for k, v in model.state_dict().items() if not any(d in k for d in drop)}, folder + "/model.safetensors", {"format": "pt"})
    c = model.config.to_dict()
    keys = ["model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "layer_norm_eps",
            "max_position_embeddings", "vocab_size", "pad_token_id", "type_vocab_size"]
    json.dump({k: c[k] for k in keys}, open(folder + "/config.json", "w"), indent=1)
    tok.save(folder + "/tokenizer.json", pretty=False)
    for file, content in extra.items():
        os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
        json.dump(content, open(os.path.join(folder, file), "w"), indent=1)
    tok.enable_truncation(limit)
    cases = []
    for text in TEXTS:
        ids = tok.encode(text).ids
        with torch.no_grad():
            h = model(torch.tensor([ids])).last_hidden_state[0]
        unit = lambda v: [round(float(x), 6) for x in v / v.norm()]
        cases.append({"text": text, "tokens": ids, "mean": unit(h.mean(0)), "first": unit(h[0])})
    with open(folder + ".json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases) + "\n]\n")

# BERT with WordPiece.
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list("abcdefghijklmnopqrstuvwxyz.?!,") + ["##" + c for c in "abcdefghijklmnoprstuwy"] + \
    ["the", "deploy", "pipe", "##line", "restart", "##ing", "how", "do", "it", "中", "文", "日", "and", "word", "ᄒ", "##ᅡ", "##ᆫ", "ß", "cafe"]
tok = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]", max_input_chars_per_word=100))
tok.normalizer = normalizers.BertNormalizer()
tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
tok.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
bert = half(BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=48, **size)))
modules = [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t} for i, (p, t) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])]
pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
write("tiny-bert", bert, tok, 40, {"modules.json": modules, "1_Pooling/config.json": pooling, "sentence_bert_config.json": {"max_seq_length": 40, "do_lower_case": False}})

# XLM-RoBERTa with Unigram and a charsmap of sentencepiece's own making.
with tempfile.TemporaryDirectory() as d:
    rules = {0xFB01: "fi", 0x2460: "1", 0xFF21: "A", 0x3000: " ", 0x0130: "i", 0x09: " ", 0x0A: " ", 0x200B: "", 0xAD: ""}
    with open(d + "/rules.tsv", "w") as f:
        f.write("".join("%X\t%s\n" % (k, " ".join("%X" % ord(c) for c in v)) for k, v in rules.items()) + "65 301\tE9\n61 308\tE4\n")
    text = "\n".join(t.replace("\0", "") for t in TEXTS if t) + "\n"
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter((text * 20).split("\n")), model_writer=out, vocab_size=90, model_type="unigram", normalization_rule_tsv=d + "/rules.tsv",
                                   hard_vocab_limit=False, max_sentence_length=10000, minloglevel=2)
proto = pb.ModelProto()
proto.ParseFromString(out.getvalue())
pieces = [(p.piece, p.score) for p in proto.pieces if p.type == 1]
vocab = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + pieces
tok = Tokenizer(models.Unigram(vocab, unk_id=3))
tok.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")])
tok.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
xlm = half(XLMRobertaModel(XLMRobertaConfig(vocab_size=len(vocab), max_position_embeddings=42, pad_token_id=1, type_vocab_size=1, **size)))
pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
write("tiny-xlm", xlm, tok, 40, {"modules.json": modules, "1_Pooling/config.json": pooling,
      "config_sentence_transformers.json": {"prompts": {"query": "how ", "document": ""}}})
