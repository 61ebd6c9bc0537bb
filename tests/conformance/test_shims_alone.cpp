// What single shims promise beyond the toy ports: a page without node, nested lists.
#include <iostream>

#include "core/compare.h"
#include "tests/conformance/shim_case.h"

namespace locus::test::test_shims_alone {

TEST_CASE("shims: the JavaScript shim needs nothing of node in a page", "[kit][shims]") {
    if (!installed("node")) return void(std::cout << "skipped: a page's script, there is no node on PATH" << std::endl);
    const TermCase one;
    // A context without require, module and process, whose fetch reads files.
    write_file(one.root / "page.js", R"js(
        const fs = require("fs"), vm = require("vm"), [shim, folder, dump] = process.argv.slice(2);
        const fetch = async (file) => ({ok: fs.existsSync(file), status: 404, statusText: "Not Found",
                                        arrayBuffer: async () => new Uint8Array(fs.readFileSync(file)).buffer});
        vm.runInNewContext(fs.readFileSync(shim, "utf8") +
            ";locusKit.loadCase(folder).then((c) => ({span: c.config.span, bytes: locusKit.safetensors(c.inputs)}))",
            {fetch, folder, TextEncoder, TextDecoder})
          .then(({span, bytes}) => { console.log(span); fs.writeFileSync(dump, new Uint8Array(bytes)); })
          .catch((error) => { console.error(error.message); process.exitCode = 3; });
    )js");
    const fs::path dump = one.root / "page.safetensors";
    const auto page = [&](const fs::path& folder) {
        return shell("node " + quoted((one.root / "page.js").string()) + " " +
                     quoted((kShims / "js/locus_kit.js").string()) + " " + quoted(folder.string()) + " " +
                     quoted(dump.string()));
    };
    check_refusal(page(one.root / "nowhere"), dump, "Not Found");
    const Outcome outcome = page(one.folder);
    INFO(outcome.err);
    CHECK(outcome.out == "3\n");
    CHECK(raw_tensors(dump) == raw_tensors(one.folder / "inputs.safetensors"));
}

TEST_CASE("shims: the Python shim takes nested lists and arrays, and refuses ragged ones", "[kit][shims]") {
    if (!installed("python3")) return void(std::cout << "skipped: lists, there is no python3 on PATH" << std::endl);
    const TermCase one;
    write_file(one.root / "lists.py", R"py(
import sys, array
sys.path.insert(0, sys.argv[1])
import locus_kit as kit
c = kit.case(sys.argv[2], dumps=sys.argv[3])
kit.dump(c, {"relative.index": c.inputs["relative.index"], "layer.0.k": c.inputs["layer.0.k"],
             "layer.0.q": array.array("f", [0.1, 2]), "layer.0.v": [[1, 0.5]]})
for wrong in ([[1, 2], [3]], b"bytes"):
    try: kit.dump(c, {"layer.0.k": wrong})
    except kit.KitError as error: print(c.id, c.config["span"], error)
)py");
    const Outcome outcome =
        shell("python3 -B " + quoted((one.root / "lists.py").string()) + " " + quoted((kShims / "python").string()) +
              " " + quoted(one.folder.string()) + " " + quoted((one.root / "dumps").string()));
    CHECK(outcome.err.empty());
    CHECK(outcome.out ==
          "L1/p2c 3 layer.0.k: its rows differ in length\n"
          "L1/p2c 3 layer.0.k: values of type 'B'; bytes are given as Tensor(dtype, shape, bytes)\n");
    const Trace dump = read_trace(one.root / "dumps/L1/p2c.safetensors");  // refusals left it alone
    CHECK(compare(one.reference, dump).pass());
    CHECK(dump.at("relative.index").dtype() == std::string("I64"));
    CHECK(dump.at("layer.0.k").dtype() == std::string("F64"));
    CHECK(dump.at("layer.0.q").as<float>().values() == std::vector<float>{0.1f, 2});
    CHECK(dump.at("layer.0.v").as<double>().values() == std::vector<double>{1, 0.5});
    CHECK(listing(one.root / "dumps/L1") == std::vector<std::string>{"p2c.safetensors"});
}

}  // namespace locus::test::test_shims_alone
