"""Writes files that a stranger could have made to do harm: each in a folder with all else that a small valid model has.

  python3 malformed_files.py OUT                 every case
  python3 malformed_files.py OUT --only zip      one group: safetensors, pickle, zip, tokenizer, spm, npy, config
  python3 malformed_files.py OUT --large         also those whose file is larger than 50 MB
  python3 malformed_files.py --list              the table, nothing is written

OUT/cases.json is the table: for every case its name, the folder, the bad file, the program that reads it with its
arguments, whether the file is refused or accepted, the exit status, words that the sentence must hold, because another
refusal would be no proof, and a reason where the outcome is not obvious.
Needs Python 3 and nothing else.  The seeds are valid models in tests/oracle.
"""
import argparse
import base64
import hashlib
import io
import json
import shutil
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from malformed_words import SAYS

ORACLE = Path(__file__).resolve().parent.parent / "oracle"
MODEL = ORACLE / "formats/safetensors"  # a DeBERTa of 17 kB
MISMATCH, USAGE, REFUSED, UNSUPPORTED = 1, 2, 3, 4

CASES = []  # filled by @case


def case(group, name, status=REFUSED, program="locus-trace", note="", **options):
    """Registers a builder: it gets the new model folder and writes the bad file there."""
    def register(build):
        CASES.append({"group": group, "name": name, "build": build, "program": program, "status": status, "note": note,
                      **options})
        return build
    return register


# --- safetensors -----------------------------------------------------------------------------------------------------

def read_safetensors(file):
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def safetensors_bytes(header, values, size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + values


def safetensors_case(name, status=REFUSED, note="", **options):
    """The builder gets header and values of a valid file and returns the bytes of the bad one."""
    def register(change):
        def build(folder):
            header, values = read_safetensors(MODEL / "model.safetensors")
            (folder / "model.safetensors").write_bytes(change(header, values))
        case("safetensors", name, status, note=note, file="model.safetensors", **options)(build)
        return change
    return register


def tensors_of(header):
    """Entries in the order of their values."""
    return sorted((entry for name, entry in header.items() if name != "__metadata__"),
                  key=lambda entry: entry["data_offsets"])


def shifted(header, start, by):
    """Every tensor from byte `start` on lies `by` bytes later."""
    for entry in tensors_of(header):
        if entry["data_offsets"][0] >= start:
            entry["data_offsets"] = [offset + by for offset in entry["data_offsets"]]
    return header


def with_extra(header, values, shape, data_offsets=None, dtype="F32"):
    """One more tensor, which no model asks for, with no values unless it says where."""
    header["extra"] = {"dtype": dtype, "shape": shape, "data_offsets": data_offsets or [len(values), len(values)]}
    return safetensors_bytes(header, values)


def changed(header, values, **fields):
    """The first tensor with other fields."""
    tensors_of(header)[0].update(fields)
    return safetensors_bytes(header, values)


for _name, _size in (("max", 2**64 - 1), ("wraps", 2**64 - 8), ("sign_bit", 2**63), ("whole_file", 20000)):
    safetensors_case(f"header_length_{_name}")(lambda h, v, size=_size: safetensors_bytes(h, v, size))

safetensors_case("valid", 0)(lambda h, v: safetensors_bytes(h, v))
safetensors_case("header_padded_by_blanks", 0)(lambda h, v: safetensors_bytes(json.dumps(h).encode() + b" " * 99, v))
safetensors_case("header_padded_by_nul")(lambda h, v: safetensors_bytes(json.dumps(h).encode() + b"\0" * 8, v))
safetensors_case("header_after_blank", 0, note="the format text forbids it; its own reader takes it")(lambda h, v: safetensors_bytes(b" " + json.dumps(h).encode(), v))
safetensors_case("header_with_byte_order_mark")(
    lambda h, v: safetensors_bytes(b"\xef\xbb\xbf" + json.dumps(h).encode(), v))
safetensors_case("header_not_json")(lambda h, v: safetensors_bytes(b"{'a': 1}", v))
safetensors_case("header_cut_short")(lambda h, v: safetensors_bytes(json.dumps(h).encode()[:-9], v))
safetensors_case("header_two_objects")(lambda h, v: safetensors_bytes(json.dumps(h).encode() + b"{}", v))
safetensors_case("header_is_list")(lambda h, v: safetensors_bytes(b"[1, 2]", v))
safetensors_case("header_not_utf8")(lambda h, v: safetensors_bytes(b'{"\xff\xfe": {}}', v))
safetensors_case("header_nests_100000_deep")(lambda h, v: safetensors_bytes(b'{"a":' + b"[" * 100000, v))
safetensors_case("header_empty_object")(lambda h, v: safetensors_bytes(b"{}", b""))
safetensors_case("header_of_0_bytes")(lambda h, v: bytes(8))
safetensors_case("header_holds_number_1e999")(lambda h, v: safetensors_bytes(b'{"a": 1e999}', v))
safetensors_case("file_of_0_bytes")(lambda h, v: b"")
safetensors_case("file_of_7_bytes")(lambda h, v: bytes(7))
safetensors_case("begin_after_end")(lambda h, v: changed(h, v, data_offsets=[116, 0]))
safetensors_case("end_beyond_file")(lambda h, v: safetensors_bytes(h, v[:-1]))
safetensors_case("end_2_to_63")(lambda h, v: changed(h, v, data_offsets=[0, 2**63]))
safetensors_case("begin_negative")(lambda h, v: changed(h, v, data_offsets=[-4, 112]))
safetensors_case("begin_is_real")(lambda h, v: changed(h, v, data_offsets=[0.0, 116.0]))
safetensors_case("three_offsets")(lambda h, v: changed(h, v, data_offsets=[0, 116, 116]))
safetensors_case("gap_between_tensors")(lambda h, v: safetensors_bytes(shifted(h, 116, 4), v[:116] + bytes(4) + v[116:]))
safetensors_case("gap_before_first")(lambda h, v: safetensors_bytes(shifted(h, 0, 8), bytes(8) + v))
safetensors_case("bytes_after_last")(lambda h, v: safetensors_bytes(h, v + b"PK\x03\x04"))
safetensors_case("span_is_not_shape")(lambda h, v: changed(h, v, shape=[28]))
safetensors_case("shape_product_wraps_to_0")(lambda h, v: with_extra(h, v, [2**32, 2**32]))
safetensors_case("shape_product_wraps_in_bytes")(lambda h, v: with_extra(h, v, [2**31, 2**31]))
safetensors_case("shape_product_wraps_before_0", note="the product is 0 and strides do not fit")(
    lambda h, v: with_extra(h, v, [2**40, 2**40, 0]))
safetensors_case("shape_negative")(lambda h, v: changed(h, v, shape=[-29]))
safetensors_case("shape_real")(lambda h, v: changed(h, v, shape=[29.5]))
safetensors_case("shape_of_100000_sizes")(lambda h, v: changed(h, v, shape=[29] + [1] * 99999))
safetensors_case("shape_of_100000_sizes_unused", 0, note="a tensor that no model asks for")(
    lambda h, v: with_extra(h, v + bytes(4), [1] * 100000, [len(v), len(v) + 4]))
safetensors_case("shape_of_100000_zeros_unused", 0)(lambda h, v: with_extra(h, v, [0] * 100000))
safetensors_case("empty_tensor_in_place", 0)(lambda h, v: with_extra(h, v, [0, 5]))
safetensors_case("empty_tensor_inside_another")(lambda h, v: with_extra(h, v, [0, 5], [4, 4]))
safetensors_case("dtype_unknown")(lambda h, v: changed(h, v, dtype="F31"))
safetensors_case("dtype_not_text")(lambda h, v: changed(h, v, dtype=["F32"]))
safetensors_case("dtype_float8", note="the safetensors package takes it; Locus computes with no such type")(
    lambda h, v: with_extra(h, v + bytes(4), [4], [len(v), len(v) + 4], "F8_E4M3"))
safetensors_case("metadata_not_text")(lambda h, v: safetensors_bytes({**h, "__metadata__": {"a": 1}}, v))
safetensors_case("name_is_control_characters")(lambda h, v: safetensors_bytes({**h, "\x1b[2J\n": {"dtype": "\n"}}, v))


@safetensors_case("overlap")
def overlap(header, values):
    first, second = [entry for entry in tensors_of(header) if entry["shape"] == [12]][:2]
    second["data_offsets"] = first["data_offsets"]
    return safetensors_bytes(header, values)


@safetensors_case("key_twice", note="the safetensors package takes the last; its format text forbids it")
def key_twice(header, values):
    text = json.dumps(header)
    first = '"cls.predictions.bias": ' + json.dumps(header["cls.predictions.bias"])
    return safetensors_bytes((text[:-1] + ", " + first + "}").encode(), values)


@case("safetensors", "header_longer_than_100_mb", file="model.safetensors", note="a file with a hole: takes no disk")
def header_longer_than_100_mb(folder):
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", 100_000_001))
        file.truncate(100_000_009)


@case("safetensors", "header_of_100_mb", 0, file="model.safetensors", large=True)
def header_of_100_mb(folder):
    header, values = read_safetensors(MODEL / "model.safetensors")
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(safetensors_bytes(text + b" " * (100_000_000 - len(text)), values))


def write_index(folder, weight_map):
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


for _name, _target in (("leaves_the_folder", "../../cases.json"), ("is_absolute", "/etc/passwd"), ("is_dots", "..")):
    @case("safetensors", f"index_{_name}", file="model.safetensors.index.json")
    def index_elsewhere(folder, target=_target):
        write_index(folder, {"cls.predictions.bias": target})


@case("safetensors", "index_names_100000_missing_files", file="part-0.safetensors")
def index_of_many(folder):
    write_index(folder, {str(n): f"part-{n}.safetensors" for n in range(100000)})


# --- pickle and zip --------------------------------------------------------------------------------------------------

def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def number(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def name_of(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


CALL = name_of("os", "system") + b"(" + text("touch owned") + b"tR"


def storage(key="0", size=4, kind="FloatStorage"):
    return b"(" + text("storage") + name_of("torch", kind) + text(key) + text("cpu") + number(size) + b"tQ"


def tensor(shape=(2, 2), strides=(2, 1), offset=0, **of_storage):
    return (name_of("torch._utils", "_rebuild_tensor_v2") + b"(" + storage(**of_storage) + number(offset) +
            numbers(shape) + numbers(strides) + b"\x89" + name_of("collections", "OrderedDict") + b")RtR")


def dictionary(*items):
    return b"\x80\x02}(" + b"".join(text(name) + value for name, value in items) + b"u."


def torch_zip(pickle, storages=None):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in (("data.pkl", pickle), ("byteorder", b"little"), ("version", b"3\n"),
                              *((f"data/{key}", value) for key, value in (storages or {"0": bytes(16)}).items())):
            archive.writestr(zipfile.ZipInfo("archive/" + name), content)
    return stream.getvalue()


def valid_zip():
    return (ORACLE / "formats/bin_zip/pytorch_model.bin").read_bytes()


def weights_case(group, name, status=REFUSED, note="", **options):
    """The builder returns the bytes of pytorch_model.bin."""
    def register(make):
        def build(folder):
            (folder / "model.safetensors").unlink()
            (folder / "pytorch_model.bin").write_bytes(make())
        case(group, name, status, note=note, file="pytorch_model.bin", **options)(build)
        return make
    return register


def pickle_case(name, pickle, note="", says=""):
    """`pickle` is the bytes of data.pkl, or makes them."""
    weights_case("pickle", name, note=note, says=says)(lambda: torch_zip(pickle() if callable(pickle) else pickle))


weights_case("pickle", "valid", 0)(valid_zip)
pickle_case("calls_os_system", dictionary(("x", CALL)), says="foreign global os.system")
pickle_case("calls_posix_system", b"\x80\x04" + text("posix") + text("system") + b"\x93" + text("touch owned") + b"\x85R.", says="foreign global posix.system")
pickle_case("calls_eval_of_builtins", b"\x80\x02" + name_of("builtins", "eval") + text("1") + b"\x85R.", says="foreign global builtins.eval")
pickle_case("calls_eval_of_python_2", b"\x80\x02" + name_of("__builtin__", "eval") + text("1") + b"\x85R.", says="foreign global __builtin__.eval")
pickle_case("walks_to_a_global", b"\x80\x04" + text("torch._utils") +
            text("_rebuild_tensor_v2.__globals__") + b"\x93.", "a dotted name reaches every attribute in Python", says="foreign global torch._utils._rebuild_tensor_v2.__globals__")
pickle_case("calls_torch_load", b"\x80\x02" + name_of("torch", "load") + text("x") + b"\x85R.", says="foreign global torch.load")
pickle_case("subclass_by_newobj", b"\x80\x02" + name_of("collections", "OrderedDict") + b")\x81.", says="opcode 0x81")
pickle_case("subclass_by_newobj_ex", b"\x80\x04" + name_of("collections", "OrderedDict") + b")}\x92.", says="opcode 0x92")
pickle_case("subclass_of_ordered_dict", b"\x80\x02" + name_of("collections", "UserDict") + b")R.", says="foreign global collections.UserDict")
pickle_case("attribute_of_ordered_dict", b"\x80\x04" + name_of("collections", "OrderedDict.__subclasses__") + b")R.", says="foreign global")
pickle_case("state_of_a_function", b"\x80\x02" + name_of("torch._utils", "_rebuild_tensor_v2") + b"}" +
            text("__code__") + text("x") + b"sb.")
pickle_case("opcode_inst", b"(" + text("touch owned") + b"ios\nsystem\n.", says="opcode 0x69")
pickle_case("opcode_obj", b"(" + name_of("os", "system") + text("touch owned") + b"o.", says="foreign global os.system")
pickle_case("opcode_ext1", b"\x80\x02\x82\x01.", says="opcode 0x82")
pickle_case("opcode_ext2", b"\x80\x02\x83\x01\x01.", says="opcode 0x83")
pickle_case("opcode_ext4", b"\x80\x02\x84\x01\x01\x01\x01.", says="opcode 0x84")
pickle_case("opcode_next_buffer", b"\x80\x05\x97.", says="opcode 0x97")
pickle_case("opcode_persid", b"\x80\x02Px\n.", says="opcode 0x50")
pickle_case("payload_then_broken", b"\x80\x02" + CALL + b"\xff\xff\xff", says="foreign global os.system")
pickle_case("valid_then_payload", dictionary(("x", tensor()))[:-1] + CALL, says="foreign global os.system")
pickle_case("empty", b"")
pickle_case("only_stop", b"\x80\x02.")
pickle_case("no_stop", dictionary(("x", tensor()))[:-1])
pickle_case("list_instead_of_dictionary", b"\x80\x02].")
pickle_case("memo_slot_2_to_32", b"\x80\x02Nr\xff\xff\xff\xff.")
pickle_case("memo_slot_one_million", b"\x80\x02Nr" + struct.pack("<I", 2**20 - 1) + b".")
pickle_case("memo_of_two_million", lambda: b"\x80\x04N" + b"\x94" * 2_000_000)
pickle_case("recalls_nothing", b"\x80\x02h\x07.")
pickle_case("frame_of_2_to_63", b"\x80\x04\x95" + struct.pack("<Q", 2**63) + b"}.")
pickle_case("frames_only", lambda: (b"\x95" + struct.pack("<Q", 2**64 - 1)) * 100_000)
pickle_case("marks_500000", lambda: b"\x80\x02" + b"(" * 500_000)
pickle_case("marks_5000000", lambda: b"\x80\x02" + b"(" * 5_000_000)
pickle_case("marks_each_closed", lambda: b"\x80\x02" + b"(" * 500_000 + b"t" * 500_000)
pickle_case("lists_5000000", lambda: b"\x80\x02" + b"]" * 5_000_000)
pickle_case("list_of_3000000", lambda: b"\x80\x02](" + b"N" * 3_000_000 + b"e.")
pickle_case("tuple_of_one_million", lambda: b"\x80\x02(" + b"N" * 1_000_000 + b"t.")
pickle_case("nests_500000_deep", lambda: b"\x80\x02" + b"]" * 500_000 + b"a" * 499_999 + b".")
pickle_case("dictionary_of_itself", b"\x80\x02}q\x00" + text("x") + b"h\x00s.")
pickle_case("tuples_of_themselves", b"\x80\x02)q\x00" + b"".join(
    b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86q" + bytes([n + 1]) for n in range(100)) + b".",
    "2^100 values if it were walked")
pickle_case("text_of_4_gb", b"\x80\x02X\xff\xff\xff\xffabc.")
pickle_case("text_of_2_to_63", b"\x80\x04\x8d" + struct.pack("<Q", 2**63) + b".")
pickle_case("bytes_of_2_to_63", b"\x80\x04\x8e" + struct.pack("<Q", 2**63) + b".")
pickle_case("number_of_2_gb", b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b".")
pickle_case("number_in_digits", b"\x80\x02L" + b"9" * 100_000 + b"L\n.", "Python needs the square of the digits in time")
pickle_case("name_without_end", lambda: b"\x80\x02c" + b"a" * 1_000_000)
pickle_case("two_tensors_of_one_name", dictionary(("x", tensor()), ("x", tensor())), says="two tensors named x")
pickle_case("storage_missing", dictionary(("x", tensor(key="7"))), says="storage 7")
pickle_case("storage_key_leaves_the_folder", dictionary(("x", tensor(key="../../../etc/passwd"))), says="does not hold")
pickle_case("storage_too_small", dictionary(("x", tensor(size=1000, shape=(1000,), strides=(1,)))), says="too few")
pickle_case("storage_of_two_dtypes", dictionary(("x", tensor()), ("y", tensor(kind="DoubleStorage", size=2))), says="two element types")
pickle_case("storage_size_negative", dictionary(("x", tensor(size=-1))), says="beyond its storage")
pickle_case("tensor_reaches_beyond", dictionary(("x", tensor(shape=(2, 3)))), says="reaches beyond")
pickle_case("tensor_offset_negative", dictionary(("x", tensor(offset=-1))), says="offset outside")
pickle_case("tensor_stride_negative", dictionary(("x", tensor(strides=(-1, 1)))), says="not whole numbers")
pickle_case("tensor_size_2_to_62", dictionary(("x", tensor(shape=(2**62, 4)))), says="not whole numbers")
pickle_case("tensor_repeats_one_value", dictionary(("x", tensor(shape=(2**20, 2**20), strides=(0, 0)))), says="repeats its storage")


@weights_case("pickle", "tensors_repeat_one_value", says="times the",
              note="every tensor alone is small; together they take gigabytes of a file of kilobytes")
def tensors_repeat_one_value():
    return torch_zip(dictionary(*((str(n), tensor(shape=(2**12, 2**12), strides=(0, 0))) for n in range(50))))


@weights_case("pickle", "tensors_share_one_storage", says="times the", note="the same without strides of 0")
def tensors_share_one_storage():
    shape, strides = (1000, 1000), (1000, 1)
    items = ((str(n), tensor(shape=shape, strides=strides, size=10**6)) for n in range(100))
    return torch_zip(dictionary(*items), {"0": bytes(4 * 10**6)})


@weights_case("pickle", "tar_archive", note="the format behind CVE-2025-32434: torch.load ran what stood in it")
def tar_archive():
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in (("sys_info", b"\x80\x02}."), ("pickle", b"\x80\x02" + CALL + b"."), ("storages", b""),
                              ("tensors", b"")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


MAGIC = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


def legacy(pickle=b"\x80\x02}.", keys=b"\x80\x02].", values=b""):
    return MAGIC + b"\x80\x02M\xe9\x03.\x80\x02}." + pickle + keys + values


LEGACY_KEYS = b"\x80\x02](" + text("0") + b"e."
for _name, _bytes in (("legacy_payload", MAGIC + b"\x80\x02" + CALL + b"."),
                      ("legacy_payload_in_keys", legacy(dictionary(("x", tensor())), b"\x80\x02" + CALL + b".")),
                      ("legacy_count_2_to_63", legacy(dictionary(("x", tensor())), LEGACY_KEYS, struct.pack("<Q", 2**63))),
                      ("legacy_cut_short", legacy(dictionary(("x", tensor())), LEGACY_KEYS)),
                      ("legacy_only_magic", MAGIC), ("file_of_0_bytes", b""), ("file_of_4_bytes", b"PK\x03\x04"),
                      ("file_is_text", b"hello"), ("file_is_html", b"<!DOCTYPE html><html></html>"),
                      ("file_is_git_lfs_pointer", b"version https://git-lfs.github.com/spec/v1\n")):
    weights_case("pickle", _name)(lambda data=_bytes: data)


# Places of fields in the records of a zip archive (APPNOTE.TXT 4.3).
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def put(archive, at, layout, value):
    return archive[:at] + struct.pack(layout, value) + archive[at + struct.calcsize(layout):]


def patched(record, field, layout, value):
    """A valid archive with one field of its first local header, its first central record or its end changed."""
    archive = valid_zip()
    at = archive.rfind(END) if record == END else archive.find(record)
    return put(archive, at + field, layout, value)


def zip64(count=None, offset=None, place=None, seed=None):
    """The end of a valid archive in 64 bits, with lies."""
    archive = seed or valid_zip()
    end = archive.rfind(END)
    real_count, size, real_offset = struct.unpack("<HII", archive[end + 10:end + 20])
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, real_count if count is None else count,
                                         real_count if count is None else count, size,
                                         real_offset if offset is None else offset)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, end if place is None else place, 1)
    return archive[:end] + record + locator + END + struct.pack("<HHHHIIH", 0, 0, 0xffff, 0xffff, size, 0xffffffff, 0)


def zip_case(name, archive, status=REFUSED, note="", says=""):
    weights_case("zip", name, status, note, says=says)(archive)


zip_case("valid_in_64_bits", zip64, 0)
zip_case("local_name_is_another", lambda: valid_zip().replace(b"data.pkl", b"data.pkx", 1),
         note="other programs read the local name", says="own header")
zip_case("encrypted", lambda: patched(CENTRAL, 8, "<H", 1), says="encrypted")
zip_case("encrypted_locally", lambda: patched(LOCAL, 6, "<H", 1), says="encrypted")
zip_case("encrypted_strongly", lambda: patched(CENTRAL, 8, "<H", 0x41), says="encrypted")
zip_case("central_directory_encrypted", lambda: patched(CENTRAL, 8, "<H", 0x2000))
zip_case("data_descriptor", valid_zip, 0, "torch sets bit 3 in every file")
zip_case("wrong_checksum", lambda: put(valid_zip(), valid_zip().rfind(CENTRAL) + 16, "<I", 0x12345678), 0,
         "torch does not look at checksums either, and may be told not to write them")
zip_case("compressed_says_stored_size", lambda: patched(CENTRAL, 10, "<H", 8), says="compressed")
zip_case("compressed_locally", lambda: patched(LOCAL, 8, "<H", 8), says="compressed")
zip_case("packed_size_is_not_size", lambda: patched(CENTRAL, 20, "<I", 1), says="stored as 1")
zip_case("size_beyond_file", lambda: patched(CENTRAL, 24, "<I", 10**6))
zip_case("directory_past_the_end", lambda: patched(END, 16, "<I", 10**8))
zip_case("directory_inside_a_member", lambda: patched(END, 16, "<I", 10))
zip_case("entry_count_too_small", lambda: patched(END, 10, "<H", 2), note="members that others see are hidden", says="2 members fill")
zip_case("entry_count_too_large", lambda: patched(END, 10, "<H", 999))
zip_case("entry_count_0", lambda: patched(END, 10, "<H", 0), says="0 members fill")
zip_case("name_beyond_file", lambda: patched(CENTRAL, 28, "<H", 0xffff))
zip_case("extra_beyond_file", lambda: patched(LOCAL, 28, "<H", 0xffff))
zip_case("local_header_elsewhere", lambda: patched(CENTRAL, 42, "<I", 5))
zip_case("in_64_bits_count_2_to_64", lambda: zip64(count=2**64 - 1))
zip_case("in_64_bits_offset_2_to_64", lambda: zip64(offset=2**64 - 1))
zip_case("in_64_bits_offset_wraps", lambda: zip64(offset=2**64 - 46))
zip_case("in_64_bits_record_at_2_to_64", lambda: zip64(place=2**64 - 1))
zip_case("in_64_bits_record_elsewhere", lambda: zip64(place=0))
zip_case("cut_short", lambda: valid_zip()[:-30])
zip_case("cut_in_half", lambda: valid_zip()[:12000])
zip_case("no_data_pkl", lambda: torch_zip(b"").replace(b"data.pkl", b"data.pkx"))
zip_case("ends_everywhere", lambda: LOCAL + END * 100_000)


@weights_case("zip", "compressed", note="a small file would become a large one")
def compressed():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"(" * 10**7)
    return stream.getvalue()


def stored(members):
    """Records by hand: (name, content, place of the local header or None), so that they may lie."""
    archive, directory = bytearray(), bytearray()
    for name, content, place in members:
        common = struct.pack("<HHHHHIIIH", 20, 0, 0, 0, 0, zlib.crc32(content), len(content), len(content), len(name))
        at = len(archive) if place is None else place
        if place is None:
            archive += LOCAL + common + struct.pack("<H", 0) + name + content
        directory += CENTRAL + struct.pack("<H", 20) + common + struct.pack("<HHHHII", 0, 0, 0, 0, 0, at) + name
    count = len(members)
    return bytes(archive + directory) + END + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(archive), 0)


def valid_members():
    with zipfile.ZipFile(io.BytesIO(valid_zip())) as archive:
        return [(one.filename.encode(), archive.read(one), None) for one in archive.infolist()]


@weights_case("zip", "members_overlap", note="many large members out of one", says="overlaps")
def members_overlap():
    inner = stored([(b"a/inner", bytes(64), None)])
    before = stored(valid_members())
    start = before.find(CENTRAL) + 30 + len(b"a/outer")  # the inner local header, inside the outer member
    return stored(valid_members() + [(b"a/outer", inner, None), (b"a/inner", bytes(64), start)])


zip_case("members_at_one_place", lambda: stored([(b"a/data.pkl", dictionary(("x", tensor())), None)] +
                                                [(b"a/data.pkl", b"x" * 9, 0)] * 2), says="twice")
zip_case("data_pkl_twice", lambda: stored([(b"a/data.pkl", b"}.", None), (b"b/data.pkl", b"}.", None)]), says="data.pkl twice")
zip_case("members_65000", lambda: stored(valid_members() + [(b"a/%d" % n, b"", None) for n in range(65000)]), 0)


# --- tokenizer.json --------------------------------------------------------------------------------------------------

def unigram(pieces=None, **model):
    vocab = [["<unk>", 0.0]] + [[letter, -2.0] for letter in " .abcdefghijklmnopqrstuvwxyz"] + (pieces or [])
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, **model}


def bpe(vocab=None, merges=None, **model):
    letters = {letter: n for n, letter in enumerate("?abcdefghijklmnopqrstuvwxyz. ")}
    return {"type": "BPE", "unk_token": "?", "vocab": {**letters, **(vocab or {})}, "merges": merges or [], **model}


def word_piece(**model):
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "store": 2}, **model}


def tokenizer(model=None, **parts):
    return {"version": "1.0", "added_tokens": [], "model": model or unigram(), **parts}


TEXT = "a new store opened."


def tokenizer_case(name, content, status=REFUSED, note="", words=TEXT):
    """`content` is the object, or the bytes, of tokenizer.json, or makes them."""
    def build(folder):
        for file in folder.iterdir():
            file.unlink()
        made = content() if callable(content) else content
        (folder / "tokenizer.json").write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())
    case("tokenizer", name, status, "locus-tokens", note, file="tokenizer.json", text=words)(build)


def charsmap(*units, tail=b"", size=None):
    trie = b"".join(struct.pack("<I", unit) for unit in units)
    table = struct.pack("<I", len(trie) if size is None else size) + trie + tail
    return precompiled(table)


def precompiled(table):
    return tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()})


def added(**fields):
    token = {"id": 29, "content": "[X]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
    return {**token, **fields}


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


def expression(pattern):
    return tokenizer(pre_tokenizer={"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                                    "invert": False})


def template(token_id):
    return {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[C]", "type_id": 0}},
                                                     {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
            "special_tokens": {"[C]": {"id": "[C]", "ids": [token_id], "tokens": ["[C]"]}}}


tokenizer_case("valid_unigram", tokenizer(), 0)
tokenizer_case("valid_bpe", tokenizer(bpe()), 0)
for _length in range(4):
    tokenizer_case(f"charsmap_of_{_length}_bytes", precompiled(b"\x04\0\0\0"[:_length]))
tokenizer_case("charsmap_without_trie", charsmap())
tokenizer_case("charsmap_trie_of_4_gb", charsmap(0, size=2**32 - 4))
tokenizer_case("charsmap_root_far_away", charsmap(0x1FFFFF << 10))
tokenizer_case("charsmap_root_of_ones", charsmap(0xFFFFFFFF))
tokenizer_case("charsmap_trie_is_a_loop", charsmap(*([0x400] + [n for n in range(1, 256)])), 0)
tokenizer_case("charsmap_value_far_away", charsmap(*([0x400] + [n | 0x100 for n in range(1, 256)])))
tokenizer_case("charsmap_not_base64", tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "?"}))
tokenizer_case("charsmap_not_utf8", charsmap(0, tail=b"\xff\xfe\0"))
tokenizer_case("byte_piece_of_minus_1", tokenizer(unigram([["<0x-1>", -1.0]], byte_fallback=True)), 0,
               "a piece like any other", "a \u00e9")
tokenizer_case("byte_piece_of_4_digits", tokenizer(bpe({"<0xFFFF>": 99}, byte_fallback=True)), 0, "", "a \u00e9")
tokenizer_case("expression_backtracks", expression("(a+)+$"), UNSUPPORTED, "2^40 ways to match", "a" * 40 + "!")
tokenizer_case("expression_backtracks_by_choice", expression("(a|a|a|a)*b"), UNSUPPORTED, "", "a" * 60)
tokenizer_case("expression_in_10000_brackets", expression("(" * 4999 + "a" + ")" * 4999),
               note="ICU gives up, with an error of its own")
tokenizer_case("expression_repeats_repeats", expression("((((a{1,999}){1,999}){1,999}){1,999}){1,999}"), 0)
tokenizer_case("expression_of_1_mb", lambda: expression("a" * 10**6))
tokenizer_case("expression_not_closed", expression("(a"))
tokenizer_case("expression_empty", expression(""))
tokenizer_case("expression_matches_nothing", expression("x*"), 0)
tokenizer_case("added_id_2_to_62", tokenizer(added_tokens=[added(id=2**62)]))
tokenizer_case("added_id_negative", tokenizer(added_tokens=[added(id=-1)]))
tokenizer_case("added_id_2_to_64", tokenizer(added_tokens=[added(id=2**64)]))
tokenizer_case("added_token_empty", tokenizer(added_tokens=[added(content="")]))
tokenizer_case("added_tokens_20000", lambda: tokenizer(
    added_tokens=[added(id=100 + n, content=f"[X{n}]") for n in range(20000)]), 0)
tokenizer_case("added_tokens_of_1000_lengths", lambda: tokenizer(
    added_tokens=[added(id=100 + n, content="[" * (n + 1)) for n in range(1000)]), 0)
tokenizer_case("added_tokens_normalized_to_nothing", tokenizer(
    added_tokens=[added(content="  ", normalized=True)], normalizer={"type": "Strip"}), 0)
tokenizer_case("piece_id_2_to_62", tokenizer(bpe({"zz": 2**62})))
tokenizer_case("piece_id_negative", tokenizer(bpe({"zz": -1})))
tokenizer_case("piece_id_real", tokenizer(bpe({"zz": 1.5})))
tokenizer_case("piece_id_twice", tokenizer(bpe({"zz": 1})))
tokenizer_case("processor_id_2_to_62", tokenizer(
    post_processor={"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 2**62]}))
tokenizer_case("processor_id_2_to_64_less_1", tokenizer(
    post_processor={"type": "RobertaProcessing", "sep": ["[SEP]", 2**64 - 1], "cls": ["[CLS]", 1]}))
tokenizer_case("template_id_2_to_62", tokenizer(post_processor=template(2**62)))
tokenizer_case("template_names_no_token", tokenizer(post_processor={**template(1), "special_tokens": {}}))
tokenizer_case("merge_of_unknown_pieces", tokenizer(bpe(merges=["qq zz"])))
tokenizer_case("merge_makes_unknown_piece", tokenizer(bpe(merges=["a b"])))
tokenizer_case("merge_of_one_piece", tokenizer(bpe({"ab": 50}, ["ab"])))
tokenizer_case("merge_twice", tokenizer(bpe({"ab": 50}, ["a b", "a b"])))
tokenizer_case("merges_not_a_list", tokenizer(bpe(merges={"a": "b"})))
tokenizer_case("unknown_id_beyond", tokenizer(unigram(unk_id=2**31)))
tokenizer_case("unknown_id_negative", tokenizer(unigram(unk_id=-1)))
tokenizer_case("no_unknown_id", tokenizer(unigram(unk_id=None)), USAGE,
               "the file is right; it is the text that has a character without a piece", "\u00e9")
tokenizer_case("score_is_text", tokenizer(unigram([["zz", "nan"]])))
tokenizer_case("score_1e999", lambda: json.dumps(tokenizer()).replace("-2.0", "-1e999").encode())
tokenizer_case("score_nan", lambda: json.dumps(tokenizer(unigram([["zz", float("nan")]]))).encode())
tokenizer_case("piece_empty", tokenizer(unigram([["", -1.0]])))
tokenizer_case("piece_of_400000_bytes", lambda: tokenizer(unigram([["a" * 400_000, -1.0]])), 0)
tokenizer_case("vocabulary_empty", tokenizer(bpe() | {"vocab": {}}))
tokenizer_case("word_length_2_to_62", tokenizer(word_piece(max_input_chars_per_word=2**62)))
tokenizer_case("nests_100000_deep", lambda: b'{"model":' + b"[" * 100_000)
tokenizer_case("nests_100000_objects", lambda: b'{"model":' * 100_000)
tokenizer_case("normalizers_double_the_text", tokenizer(
    normalizer={"type": "Sequence", "normalizers": [REPLACE] * 60}), UNSUPPORTED, "2^60 letters out of one")
tokenizer_case("bytes_double_the_text", tokenizer(
    normalizer={"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 60}), UNSUPPORTED, "", "\u00e9")
tokenizer_case("pre_tokenizers_double_the_text", tokenizer(pre_tokenizer={
    "type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}] * 60}),
    UNSUPPORTED, "", "\u00e9")
tokenizer_case("pre_tokenizers_lengthen_the_mark", lambda: tokenizer(pre_tokenizer={
    "type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": " " * 99, "prepend_scheme": "always",
                                           "split": False}] * 60}))
tokenizer_case("replacement_of_1_mb", lambda: tokenizer(normalizer={
    "type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10**6}), UNSUPPORTED, "", "e" * 1000)
tokenizer_case("model_type_unknown", tokenizer({"type": "Magic"}), UNSUPPORTED)
tokenizer_case("model_missing", {"version": "1.0"})
tokenizer_case("file_of_0_bytes", b"")
tokenizer_case("key_twice", b'{"model": {}, "model": {}}')
tokenizer_case("ends_in_nul", lambda: json.dumps(tokenizer()).encode() + b"\0\0\0")
tokenizer_case("list_of_500000_empty_objects", lambda: b'{"x":[' + b"{}," * 500_000 + b"0]}")


# --- spm.model -------------------------------------------------------------------------------------------------------

def varint(value):
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def field(tag, content):
    return varint(tag << 3 | 2) + varint(len(content)) + content


def spm_model(*parts):
    """A valid model followed by further fields: in a protobuf message the last one wins, and lists grow."""
    return (ORACLE / "tokenizers/spm/spm.model").read_bytes() + b"".join(parts)


def spm_piece(name, score=-1.0):
    return field(1, field(1, name) + b"\x15" + struct.pack("<f", score))


def spm_charsmap(table):
    return field(3, field(2, table))


def spm_case(name, content, status=REFUSED, note=""):
    def build(folder):
        for file in folder.iterdir():
            file.unlink()
        for file in (ORACLE / "tokenizers/spm").iterdir():
            if file.name not in ("case.json", "cases.json"):
                shutil.copyfile(file, folder / file.name)
        (folder / "spm.model").write_bytes(content() if callable(content) else content)
    case("spm", name, status, "locus-tokens", note, file="spm.model", text=TEXT)(build)


spm_case("valid", spm_model, 0)
spm_case("file_of_0_bytes", b"")
spm_case("not_protobuf", b"hello, this is no model")
spm_case("cut_in_half", lambda: spm_model()[:len(spm_model()) // 2])
spm_case("length_beyond_file", lambda: spm_model(varint(1 << 3 | 2) + varint(10**6) + b"abc"))
spm_case("length_2_to_63", lambda: spm_model(varint(1 << 3 | 2) + varint(2**63)))
spm_case("length_without_end", lambda: spm_model(varint(1 << 3 | 2) + b"\xff" * 20))
spm_case("piece_of_400000_bytes", lambda: spm_model(spm_piece(b"a" * 400_000)), 0)
spm_case("piece_of_one_nul", lambda: spm_model(spm_piece(b"\0")))
spm_case("piece_empty", lambda: spm_model(spm_piece(b"")))
spm_case("piece_twice", lambda: spm_model(spm_piece(b"abc"), spm_piece(b"abc")))
spm_case("piece_not_utf8", lambda: spm_model(spm_piece(b"\xff\xfe")))
spm_case("piece_without_score_limit", lambda: spm_model(spm_piece(b"zzz", float("nan"))))
spm_case("charsmap_of_3_bytes", lambda: spm_model(spm_charsmap(b"abc")))
spm_case("charsmap_root_far_away", lambda: spm_model(spm_charsmap(struct.pack("<II", 4, 0x1FFFFF << 10 & 0xFFFFFFFF))))
spm_case("charsmap_root_beyond_all", lambda: spm_model(spm_charsmap(struct.pack("<II", 4, 0xFFFFFC00))))
spm_case("charsmap_trie_of_4_gb", lambda: spm_model(spm_charsmap(struct.pack("<II", 2**32 - 4, 0))))


# --- .npy ------------------------------------------------------------------------------------------------------------

def npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", values=bytes(24), version=1, length=None):
    encoded = header.encode("latin1") + b"\n"
    size = len(encoded) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + encoded + values


def npy_header(descr="'<f4'", fortran="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


KIT_CASE = {"format": "locus-kit-case", "version": "1.0", "id": "L0/one", "level": "L0", "family": "deberta",
            "why": "a case whose dump is bad", "dialect": "official", "accuracy": 0.0,
            "source": {"library": "locus", "version": "0.1.0", "dtype": "float64"},
            "config": {"kind": "relative_index", "queries": 2, "keys": 3, "span": 7}, "inputs": [],
            "stages": [{"name": "relative.index", "dtype": "I64", "shape": [2, 3], "axes": ["Tq", "Tk"],
                        "formula": "delta(i,j)", "depends": []}], "notes": []}
INDEX = struct.pack("<6q", 7, 6, 5, 8, 7, 6)  # i - j + 7


def write_kit(folder):
    """A kit of one case, to which the bad file is a dump."""
    stages = json.dumps([{"name": "relative.index", "axes": ["Tq", "Tk"], "formula": "delta(i,j)", "source": "-"}])
    metadata = {"format": "locus-trace-1", "stages": stages}
    reference = {"__metadata__": metadata,
                 "relative.index": {"dtype": "I64", "shape": [2, 3], "data_offsets": [0, len(INDEX)]}}
    files = {"case.json": json.dumps(KIT_CASE).encode(), "reference.safetensors": safetensors_bytes(reference, INDEX),
             "inputs.safetensors": safetensors_bytes({"__metadata__": {**metadata, "stages": "[]"}}, b"")}
    (folder / "cases/L0/one").mkdir(parents=True)
    for name, content in files.items():
        (folder / "cases/L0/one" / name).write_bytes(content)
    entry = {"id": "L0/one", "level": "L0", "family": "deberta",
             "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}}
    (folder / "kit.json").write_text(json.dumps({"format": "locus-kit", "version": "1.0", "generator": "-", "files": {},
                                                 "cases": [entry]}))


def npy_case(name, content, status=REFUSED, note=""):
    """A dump of one stage, as `locus kit check` reads it."""
    def build(folder):
        for file in folder.iterdir():
            file.unlink()
        write_kit(folder / "kit")
        (folder / "dumps/L0/one").mkdir(parents=True)
        (folder / NPY).write_bytes(content() if callable(content) else content)
    case("npy", name, status, "locus-kit", note, file=NPY)(build)


NPY = "dumps/L0/one/relative.index.npy"
npy_case("valid", lambda: npy(npy_header("'<i8'"), INDEX), 0)
npy_case("header_length_beyond_file", npy(length=0xffff))
npy_case("header_length_4_gb", npy(version=2, length=0xffffffff))
npy_case("header_of_0_bytes", npy(length=0))
npy_case("header_of_60000_quotes", lambda: npy("{'descr': '" + "<" * 60_000))
npy_case("header_of_9900_letters", lambda: npy("{'descr': '" + "<" * 9900 + "', 'shape': (1), 'fortran_order': False}"),
         UNSUPPORTED)
npy_case("header_of_9900_digits", lambda: npy(npy_header(shape="(" + "1," * 4900 + ")"), bytes(4)), MISMATCH)
npy_case("header_of_9900_blanks", lambda: npy("{'descr':" + " " * 9900))
npy_case("fortran_order", npy(npy_header(fortran="True")), UNSUPPORTED)
npy_case("object_dtype", npy(npy_header("'|O'"), b"\x80\x02" + CALL + b"."), UNSUPPORTED, "NumPy would unpickle it")
npy_case("structured_dtype", npy(npy_header("[('a', '<f4')]")))
npy_case("big_endian", npy(npy_header("'>f4'")), UNSUPPORTED)
npy_case("dtype_is_not_closed", npy(npy_header("'<f4")), UNSUPPORTED)
npy_case("values_cut_short", npy(values=bytes(20)))
npy_case("values_too_many", npy(values=bytes(28)))
npy_case("shape_product_wraps", npy(npy_header(shape="(4294967296, 4294967296)"), b""))
npy_case("shape_beyond_64_bits", npy(npy_header(shape="(99999999999999999999999,)")))
npy_case("shape_negative", npy(npy_header(shape="(-2, 3)")))
npy_case("shape_of_0_and_many", npy(npy_header(shape="(0, 4611686018427387904, 4)"), b""), MISMATCH,
         "an array without values, of another shape than the stage")
npy_case("version_0", npy(version=0), UNSUPPORTED)
npy_case("version_9", npy(version=9), UNSUPPORTED)
npy_case("file_of_0_bytes", b"")
npy_case("file_of_9_bytes", b"\x93NUMPY\x01\x00\x00")
npy_case("file_is_text", b"hello, this is no array")


# --- config.json -----------------------------------------------------------------------------------------------------

FAMILIES = {"deberta": "formats/safetensors", "roformer": "hf_roformer/model", "xlnet": "hf_xlnet_bi/model",
            "txl": "txl_basic/model"}


def config_case(name, change, status=REFUSED, note="", family="deberta", file="config.json", says=""):
    """`change` gets the fields and changes them, or returns the bytes of the file; `file` is what the sentence names,
    and `says` what it says of it."""
    def build(folder):
        for old in folder.iterdir():
            old.unlink()
        for seed in (ORACLE / FAMILIES[family]).iterdir():
            shutil.copyfile(seed, folder / seed.name)
        fields = json.loads((folder / "config.json").read_text())
        made = change(fields)
        (folder / "config.json").write_bytes(made if isinstance(made, bytes) else json.dumps(fields).encode())
    case("config", f"{family}_{name}", status, note=note, file=file, says=says)(build)


def set_field(name, value):
    return lambda fields: fields.update({name: value})


SIZES = {"deberta": ["hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size",
                     "max_position_embeddings"],
         "roformer": ["hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size",
                      "max_position_embeddings"],
         "xlnet": ["d_model", "n_head", "n_layer", "d_inner", "vocab_size"],
         "txl": ["d_model", "n_head", "d_head", "n_layer", "d_inner", "vocab_size", "mem_len"]}
WEIGHTS = {"deberta": "model.safetensors", "roformer": "model.safetensors", "xlnet": "pytorch_model.bin",
           "txl": "pytorch_model.bin"}
# A size that the weights contradict: the sentence names their file, and both sizes.
CONTRADICTED = {"deberta": ["intermediate_size", "vocab_size"],
                "roformer": ["intermediate_size", "vocab_size", "max_position_embeddings"],
                "xlnet": ["n_head", "d_inner", "vocab_size"], "txl": ["n_head", "d_head", "d_inner", "vocab_size"]}
ACCEPTED = {("deberta", "max_position_embeddings", 2**31 - 1): "no tensor has this size, and nothing is made of it",
            ("txl", "mem_len", 2**31 - 1): "the memory is as long as the text was", ("txl", "mem_len", 0): "no memory"}
VALUES = {"2_to_62": 2**62, "2_to_31_less_1": 2**31 - 1, "0": 0, "negative": -5, "real": 3.5, "text": "12",
          "list": [12]}
LARGEST = 2**31 - 1


def words_about(family, field, value):
    """What is said of a size that is wrong."""
    if value == LARGEST:
        if field in CONTRADICTED[family]:
            return str(LARGEST)  # beside the shape that the file has
        if field == "num_attention_heads":
            return f"expected a multiple of num_attention_heads = {LARGEST}"
        if field in ("hidden_size", "d_model"):
            return f"{field} is {LARGEST}, expected " + ("a multiple of" if field == "hidden_size" else "an even number")
    least = 0 if field == "mem_len" else 1
    most = 10_000 if field in ("num_hidden_layers", "n_layer") else LARGEST
    ends = f"from {least} to {most}" if most < LARGEST or value == 2**62 else f"of {least} or more"
    return f"{field} is {json.dumps(value)}, expected a whole number {ends}"


for _family, _names in SIZES.items():
    for _field in _names:
        for _word, _value in VALUES.items():
            _why = None if isinstance(_value, list) else ACCEPTED.get((_family, _field, _value))
            _named = WEIGHTS[_family] if _value == LARGEST and _field in CONTRADICTED[_family] else "config.json"
            config_case(f"{_field}_{_word}", set_field(_field, _value), REFUSED if _why is None else 0, _why or "",
                        _family, _named, words_about(_family, _field, _value) if _why is None else "")

for _family in FAMILIES:
    config_case("valid", lambda fields: None, 0, "", _family)
config_case("position_buckets_2_to_31_less_2", set_field("position_buckets", 2**31 - 2),
            says=f"expected a whole number from -1 to {2**30 - 1}")  # the table has twice as many rows
config_case("heads_do_not_divide", set_field("num_attention_heads", 5),
            says="expected a multiple of num_attention_heads = 5")
config_case("epsilon_nan", lambda f: json.dumps({**f, "layer_norm_eps": float("nan")}).encode(), note="NaN is no JSON",
            says="not valid JSON at byte 241")
config_case("epsilon_infinite", lambda f: json.dumps({**f, "layer_norm_eps": float("inf")}).encode(),
            says="not valid JSON at byte 241")
config_case("epsilon_1e999", lambda f: json.dumps(f).replace("1e-07", "1e999").encode(),
            says="a number is larger than any double")
config_case("epsilon_negative", set_field("layer_norm_eps", -1.0),
            says="layer_norm_eps is -1.0, expected a number above 0")
config_case("max_relative_positions_2_to_62", set_field("max_relative_positions", 2**62),
            says="expected a whole number from -1 to 2147483647")
config_case("no_model_type", lambda f: f.pop("model_type"), UNSUPPORTED,
            says="model_type is missing")
config_case("model_type_unknown", set_field("model_type", "magic"), UNSUPPORTED,
            says="model_type is \"magic\"")
config_case("activation_unknown", set_field("hidden_act", "magic"), UNSUPPORTED,
            says="hidden_act is \"magic\"")
config_case("position_terms_unknown", set_field("pos_att_type", ["p2p2p"]), UNSUPPORTED,
            says="pos_att_type is [\"p2p2p\"]")
config_case("is_list", lambda f: b"[]",
            says="is not a JSON object")
config_case("is_empty", lambda f: b"",
            says="is empty, expected one JSON object")
config_case("nests_100000_deep", lambda f: b'{"a":' * 100_000,
            says="nests deeper than 64")
config_case("key_twice", lambda f: b'{"model_type": "deberta-v2", "model_type": "deberta"}',
            says="key \"model_type\" twice")
config_case("name_of_1_mb", lambda f: json.dumps({**f, "model_type": "x" * 10**6}).encode(), UNSUPPORTED,
            says="model_type is \"xxx")


# --- the words of each refusal -----------------------------------------------------------------------------------------

def words_of(one):
    """Words that the sentence of a refused case must hold."""
    says = one.get("says") or SAYS.get(one["group"], {}).get(one["name"], "")
    assert says or one["status"] < USAGE, f"{one['group']}/{one['name']} is refused, but nothing says with which words"
    return says


# --- the table -------------------------------------------------------------------------------------------------------

def arguments_of(one, folder):
    if one["program"] == "locus-kit":
        return ["check", str(folder / "kit"), str(folder / "dumps")]
    if one["program"] == "locus-tokens":
        return ["--model", str(folder), "--json", one["text"]]
    return ["--model", str(folder), "--tokens", "1,2,3", "--out", str(folder.parent / "out.safetensors")]


def row(one, out):
    folder = out / one["group"] / one["name"] / "model"
    return {"name": f"{one['group']}/{one['name']}", "folder": str(folder), "file": one["file"],
            "program": one["program"], "arguments": arguments_of(one, folder),
            "outcome": "accepted" if one["status"] < USAGE else "refused", "status": one["status"],
            "says": words_of(one), "note": one["note"]}


def write(one, out):
    folder = out / one["group"] / one["name"] / "model"
    folder.mkdir(parents=True)
    for file in MODEL.iterdir():
        shutil.copyfile(file, folder / file.name)
    one["build"](folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", help="a new folder")
    parser.add_argument("--only", help="one group")
    parser.add_argument("--large", action="store_true", help="also files larger than 50 MB")
    parser.add_argument("--list", action="store_true", help="print the table, write nothing")
    options = parser.parse_args()
    chosen = [one for one in CASES if options.only in (None, one["group"]) and (options.large or not one.get("large"))]
    if options.list:
        for one in chosen:
            print(f"{one['group']}/{one['name']}", one["file"], one["program"], one["status"], one["note"], sep="\t")
        return
    if options.out is None:
        parser.error("OUT is missing")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for one in chosen:
        write(one, out)
    (out / "cases.json").write_text(json.dumps([row(one, out) for one in chosen], indent=1))


if __name__ == "__main__":
    main()
