#include "core/io/torch_pickle.h"

#include <limits>

#include "tests/torch_bytes.h"

namespace locus::test::test_torch_pickle {

using namespace std::string_literals;
using Catch::Contains;

namespace {

std::string refusal_of_pickle(const std::string& pickle) { return refusal_of(torch_zip(pickle, kFourFloats).bytes()); }

std::string refusal_of_tensor(const TorchTensor& tensor) {
    const std::string sentence = refusal_of_pickle(pickled_dict({tensor}));
    CHECK_THAT(sentence, Contains("tensor " + tensor.name + " "));
    return sentence;
}

}  // namespace

TEST_CASE("torch_pickle: a tensor in a zip, and a part of it by strides", "[torch_pickle]") {
    const Storages storages = {{"0", counting_floats(12)}};
    TorchTensor whole, transposed, tail, repeated;
    for (TorchTensor* tensor : {&whole, &transposed, &tail, &repeated}) tensor->storage_size = 12;
    whole.name = "whole", whole.shape = {3, 4}, whole.strides = {4, 1};
    transposed.name = "transposed", transposed.shape = {4, 3}, transposed.strides = {1, 4};
    tail.name = "tail", tail.shape = {2, 1}, tail.strides = {3, 99}, tail.offset = 8;
    repeated.name = "repeated", repeated.shape = {3, 2}, repeated.strides = {0, 5}, repeated.offset = 1;
    const std::string bytes = torch_zip(pickled_dict({whole, transposed, tail, repeated}), storages).bytes();
    CHECK(values_in(bytes, "whole") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    CHECK(values_in(bytes, "transposed") == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
    CHECK(values_in(bytes, "tail") == std::vector<float>{8, 11});
    CHECK(values_in(bytes, "repeated") == std::vector<float>{1, 6, 1, 6, 1, 6});

    const TemporaryFolder folder;
    const TensorFile file = open_torch_pickle(write_bytes(folder / "m.bin", bytes));
    CHECK(file.entries.front().name == "whole");
    const Matrix<double> rows = read_rows<double>(*file.find("transposed"), 1, 2);
    CHECK(rows == (Matrix<double>(2, 3) << 1, 5, 9, 2, 6, 10).finished());
}

TEST_CASE("torch_pickle: every storage type", "[torch_pickle]") {
    const std::pair<std::string, std::string> cases[] = {
        {"DoubleStorage", bytes_of(-3.0)},
        {"FloatStorage", bytes_of(-3.0f)},
        {"HalfStorage", bytes_of<std::uint16_t>(0xc200)},
        {"BFloat16Storage", bytes_of<std::uint16_t>(0xc040)},
        {"LongStorage", bytes_of<std::int64_t>(-3)},
        {"IntStorage", bytes_of<std::int32_t>(-3)},
        {"ShortStorage", bytes_of<std::int16_t>(-3)},
        {"CharStorage", bytes_of<std::int8_t>(-3)},
    };
    TorchTensor one;
    one.storage_size = 1, one.shape = {1}, one.strides = {1};
    for (const auto& [storage, bytes] : cases) {
        INFO(storage);
        one.storage = storage;
        CHECK(values_in(torch_zip(pickled_dict({one}), {{"0", bytes}}).bytes()) == std::vector<float>{-3});
    }
    for (const char* storage : {"ByteStorage", "BoolStorage"}) {
        one.storage = storage;
        CHECK(values_in(torch_zip(pickled_dict({one}), {{"0", "\1"}}).bytes()) == std::vector<float>{1});
    }
}

TEST_CASE("torch_pickle: what else a state dictionary holds is passed over", "[torch_pickle]") {
    const std::string ordered = pickled_global("collections", "OrderedDict");
    const std::string parameter =
        pickled_global("torch._utils", "_rebuild_parameter") + "(" + TorchTensor().pickle() + "\x88" + ordered + ")RtR";
    const std::string items = "(" + pickled_text("step") + pickled_number(7) + pickled_text("none") + "N" +
                              pickled_text("list") + "](K\1G" + std::string(8, '\0') + "e" + pickled_text("x") +
                              parameter + "u";
    const std::string metadata = "}" + pickled_text("_metadata") + ordered + ")Rsb";
    CHECK(values_in(torch_zip("\x80\x02" + ordered + ")R" + items + metadata + ".", kFourFloats).bytes()) ==
          std::vector<float>{0, 1, 2, 3});
    // Python 2 hands the items of an OrderedDict over as lists of two.
    const std::string pairs = "](](" + pickled_text("x") + TorchTensor().pickle() + "ee";
    CHECK(values_in(torch_zip("\x80\x02" + ordered + "(" + pairs + "tR.", kFourFloats).bytes()) ==
          std::vector<float>{0, 1, 2, 3});
}

TEST_CASE("torch_pickle: newer protocols with frames, a memo and stack globals", "[torch_pickle]") {
    const auto text = [](const std::string& word) {
        return "\x8c" + bytes_of(static_cast<std::uint8_t>(word.size())) + word + "\x94";
    };
    const std::string tensor = text("torch._utils") + text("_rebuild_tensor_v2") + "\x93((" + text("storage") +
                               text("torch") + text("FloatStorage") + "\x93" + text("0") + text("cpu") +
                               "K\4tQK\0K\4\x85K\1\x85\x89}tR"s;
    // "again" is the dictionary itself: not a tensor, so it is passed over, and nothing recurses.
    const std::string pickle =
        "\x80\x04\x95" + std::string(8, '\0') + "}\x94" + text("x") + tensor + "s" + text("again") + "h\0s."s;
    CHECK(values_in(torch_zip(pickle, kFourFloats).bytes()) == std::vector<float>{0, 1, 2, 3});
}

TEST_CASE("torch_pickle: the legacy stream, with a storage that is a view of another", "[torch_pickle]") {
    TorchTensor plain, view;
    plain.view = "N";
    view.name = "view", view.shape = {2}, view.strides = {1}, view.offset = 1;
    view.view = "(" + pickled_text("part") + pickled_number(1) + pickled_number(3) + "t";
    const std::string bytes = torch_legacy(pickled_dict({plain, view}), kFourFloats);
    CHECK(values_in(bytes) == std::vector<float>{0, 1, 2, 3});
    CHECK(values_in(bytes, "view") == std::vector<float>{2, 3});
}

TEST_CASE("torch_pickle: a foreign global is refused by name", "[torch_pickle]") {
    const std::string call = pickled_global("os", "system") + "(" + pickled_text("touch owned") + "tR";
    CHECK_THAT(refusal_of_pickle(pickled_items({{"x", call}})), Contains("foreign global os.system"));
    CHECK_THAT(refusal_of(torch_legacy(pickled_items({{"x", call}}), {})), Contains("foreign global os.system"));
    CHECK_THAT(refusal_of_pickle("\x80\x04" + pickled_text("posix") + pickled_text("system") + "\x93."),
               Contains("foreign global posix.system"));
    CHECK_THAT(refusal_of_pickle(pickled_items({{"x", pickled_global("torch", "QInt8Storage")}})),
               Contains("torch.QInt8Storage"));
    CHECK_THAT(refusal_of_pickle("\x80\x02" + pickled_global("torch\x1b[2J", "x") + "."), !Contains("\x1b"));
}

TEST_CASE("torch_pickle: a damaged pickle is refused", "[torch_pickle]") {
    CHECK_THAT(refusal_of_pickle(""), Contains("cut short"));
    CHECK_THAT(refusal_of_pickle("\x80\x02}"), Contains("cut short"));
    CHECK_THAT(refusal_of_pickle("X" + bytes_of<std::uint32_t>(0xffffffff) + "abc"), Contains("cut short"));
    CHECK_THAT(refusal_of_pickle("ctorch"), Contains("cut short inside a name"));
    CHECK_THAT(refusal_of_pickle("c" + std::string(5000, 'a') + "\nx\n."), Contains("name"));
    CHECK_THAT(refusal_of_pickle("."), Contains("a value is missing"));
    CHECK_THAT(refusal_of_pickle("("), Contains("cut short"));
    CHECK_THAT(refusal_of_pickle("(."), Contains("a value is missing"));
    CHECK_THAT(refusal_of_pickle("Nt."), Contains("a mark is missing"));
    CHECK_THAT(refusal_of_pickle("h\5."), Contains("recalls what it never kept"));
    CHECK_THAT(refusal_of_pickle("Nq\5h\4."), Contains("recalls what it never kept"));
    CHECK_THAT(refusal_of_pickle("Nr" + bytes_of<std::uint32_t>(0xffffffff) + "."), Contains("keeps more values"));
    CHECK_THAT(refusal_of_pickle("NNs."), Contains("a value is missing"));
    CHECK_THAT(refusal_of_pickle("NNNs."), Contains("holds none"));
    CHECK_THAT(refusal_of_pickle("}(Nu."), Contains("holds none"));
    CHECK_THAT(refusal_of_pickle("N)R."), Contains("not a known global"));
    CHECK_THAT(refusal_of_pickle("NQ."), Contains("persistent id"));
    CHECK_THAT(refusal_of_pickle("\x81."), Contains("opcode 0x81"));
    CHECK_THAT(refusal_of_pickle("N."), Contains("does not hold a dictionary"));
    CHECK_THAT(refusal_of_pickle("}."), Contains("holds no tensors"));
    CHECK_THAT(refusal_of_pickle(pickled_global("torch", "FloatStorage") + ")R."), Contains("builds no tensor"));
    CHECK_THAT(refusal_of_pickle(std::string(5000000, 'N')), Contains("more values than any state dictionary"));
    CHECK_THAT(refusal_of_pickle(std::string(5000000, ']')), Contains("more values than any state dictionary"));
}

TEST_CASE("torch_pickle: a few bytes cannot become many values", "[torch_pickle]") {
    // One list of 3000 pairs, given to OrderedDict 3000 times.
    std::string pickle = "](";
    for (int n = 0; n < 3000; ++n) pickle += "NN\x86";
    pickle += "eq\1\x85q\2(";
    for (int n = 0; n < 3000; ++n) pickle += pickled_global("collections", "OrderedDict") + "h\2R";
    CHECK_THAT(refusal_of_pickle(pickle + "t."), Contains("more values than any state dictionary"));
    // Nesting costs no stack.
    CHECK_THAT(refusal_of_pickle("N" + std::string(500000, '\x85') + "."), Contains("does not hold a dictionary"));
}

TEST_CASE("torch_pickle: many tensors in one storage cannot become many bytes", "[torch_pickle]") {
    TorchTensor tensor;
    tensor.shape = {1 << 16, 1}, tensor.strides = {0, 1};
    std::vector<TorchTensor> tensors(3, tensor);
    for (std::size_t n = 0; n < tensors.size(); ++n) tensors[n].name = "x" + std::to_string(n);
    CHECK(values_in(torch_zip(pickled_dict(tensors), kFourFloats).bytes(), "x2").size() == 1 << 16);
    tensors.resize(100, tensor);
    for (std::size_t n = 0; n < tensors.size(); ++n) tensors[n].name = "x" + std::to_string(n);
    CHECK_THAT(refusal_of_pickle(pickled_dict(tensors)), Contains("more than 16 times"));
}

TEST_CASE("torch_pickle: a tensor that leaves its storage is refused", "[torch_pickle]") {
    const std::int64_t large = std::int64_t{1} << 40;
    TorchTensor tensor;
    SECTION("by its shape") { tensor.shape = {2, 3}; }
    SECTION("by its strides") { tensor.strides = {3, 1}; }
    SECTION("by its offset") { tensor.offset = 1; }
    SECTION("by a negative offset") { tensor.offset = -1; }
    SECTION("by a negative size") { tensor.shape = {-2, 2}; }
    SECTION("by a negative stride") { tensor.strides = {-1, 1}; }
    SECTION("by sizes whose product overflows") { tensor.shape = {large, large}, tensor.strides = {0, 0}; }
    SECTION("by empty sizes whose product overflows") { tensor.shape = {0, large, large}, tensor.strides = {1, 1, 1}; }
    SECTION("by strides that overflow") { tensor.shape = {large, large}, tensor.strides = {large, large}; }
    SECTION("by an offset that overflows") { tensor.offset = std::numeric_limits<std::int64_t>::max(); }
    SECTION("by repeating it endlessly") { tensor.shape = {large}, tensor.strides = {0}; }
    SECTION("by fewer strides than sizes") { tensor.strides = {1}; }
    SECTION("by too many axes") { tensor.shape = tensor.strides = std::vector<std::int64_t>(9, 1); }
    SECTION("by a storage that is not there") { tensor.key = "1"; }
    SECTION("by a view that begins before it") {
        tensor.view = "(" + pickled_text("part") + pickled_number(-1) + pickled_number(4) + "t";
        tensor.offset = 0;
    }
    refusal_of_tensor(tensor);
}

TEST_CASE("torch_pickle: a storage of another size or type than its tensor says is refused", "[torch_pickle]") {
    TorchTensor tensor;
    CHECK_THAT(refusal_of(torch_zip(pickled_dict({tensor}), {{"0", counting_floats(3)}}).bytes()),
               Contains("storage 0 of tensor x has 12 bytes") && Contains("4 values of F32"));
    TorchTensor other = tensor;
    other.name = "y", other.storage = "HalfStorage";
    CHECK_THAT(refusal_of_pickle(pickled_dict({tensor, other})), Contains("storage 0 two element types"));
    CHECK_THAT(refusal_of_pickle(pickled_items({{"x", "((" + pickled_text("storage") + "tQ"}})),
               Contains("persistent id"));
}

TEST_CASE("torch_pickle: an empty tensor reads nothing, wherever it says it lies", "[torch_pickle]") {
    TorchTensor empty;
    empty.shape = {0, 4}, empty.strides = {4, 1}, empty.offset = std::int64_t{1} << 40;
    CHECK(values_in(torch_zip(pickled_dict({empty}), kFourFloats).bytes()).empty());
}

TEST_CASE("torch_pickle: a legacy stream cut short is refused wherever it ends", "[torch_pickle]") {
    const std::string bytes = torch_legacy(pickled_dict({TorchTensor()}), kFourFloats);
    for (std::size_t size = 0; size < bytes.size(); ++size) refusal_of(bytes.substr(0, size));
    CHECK_THAT(refusal_of(bytes.substr(0, bytes.size() - 1)), Contains("cut short inside storage 0"));
    CHECK_THAT(refusal_of(bytes.substr(0, bytes.size() - 20)), Contains("cut short before storage 0"));
}

TEST_CASE("torch_pickle: what is neither zip nor legacy is refused", "[torch_pickle]") {
    CHECK_THAT(refusal_of("\x80\x02K\5."), Contains("neither a zip archive nor a legacy torch file"));
    CHECK_THAT(refusal_of(torch_legacy(pickled_dict({TorchTensor()}), kFourFloats, 4, 1002)),
               Contains("protocol 1002"));
    CHECK_THAT(refusal_of(torch_legacy(pickled_dict({TorchTensor()}), {{"7", "1234"}})), Contains("lists storage 7"));
}

}  // namespace locus::test::test_torch_pickle
