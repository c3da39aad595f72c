// formats/folder_reader.cpp, folder_writer.cpp, folder_names.cpp: a folder is one dump.
#include <sys/stat.h>

#include "formats/folder_names.hpp"
#include "support/files.hpp"

using namespace gradz;
using namespace gradz::formats;
using namespace gradz::test;

namespace {

const fs::path kNpy = kData / "edge/npy_nan.npy", kBig = kData / "gradients/mlp_s5_fc1.weight_be_f64_v3_fortran.npy";

void place(const Folder& dir, const std::string& relative, const fs::path& from = kNpy) {
    fs::create_directories((dir / relative).parent_path());
    fs::copy_file(from, dir / relative);
}

std::vector<std::string> names(const TensorReader& reader) {
    std::vector<std::string> out;
    for (const auto& t : reader.tensors())
        out.push_back(t.name + "@" + std::to_string(t.step) + "#" + std::to_string(t.worker));
    return out;
}

std::string tree(const fs::path& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            files.push_back(entry.path().lexically_relative(folder).string() + "\n" + slurp(entry.path()));
    std::sort(files.begin(), files.end());
    std::string out;
    for (const auto& f : files) out += f;
    return out;
}

Result<Done> copy_dump(const fs::path& from, const fs::path& to) {
    GRADZ_TRY(auto reader, open_tensors(from, {}));
    GRADZ_TRY(auto writer, create_folder(to, reader->origin(), {}));
    return copy_tensors(*reader, *writer);
}

}  // namespace

TEST_CASE("folder names: where a file lies, and back") {
    const auto place = place_of("step_10/layer1/conv_rank2.npy");
    CHECK(place.prefix == "layer1/conv");
    CHECK(place.step == 10);
    CHECK(place.worker == 2);
    CHECK(place_of("step_10/step_11.npz").step == 11);
    CHECK(place_of("step_10/rank_0.npz").prefix.empty());
    CHECK(name_in_folder("", "x", true) == "data");
    for (const bool npy : {true, false})
        for (const char* prefix : {"", "a", "a/b"}) {
            const auto name = name_in_folder(prefix, "w/x", npy);
            CHECK(name_in_file(prefix, name, npy) == (npy ? name : "w/x"));
            CHECK_FALSE(name_in_file("other", name, npy));
        }
    CHECK(safe_components("a/b c/%.npy"));
    for (const std::string& bad : std::initializer_list<std::string>{"", "/a", "a/", "a//b", "..", "../a", "a/../b",
                                                                     ".", "a/.b", std::string("a\0b", 3)})
        CHECK_FALSE(safe_components(bad));
}

TEST_CASE("folder reader: natural order, names, steps, hidden and foreign files") {
    const Folder dir;
    place(dir, "run/step_10/fc.weight.npy");
    place(dir, "run/step_2/fc.weight.npy");
    place(dir, "run/step_2/layer1/conv.npy");
    place(dir, "run/step_2/rank_1.npy");
    place(dir, "run/.hidden/x.npy");
    place(dir, "run/.x.npy");
    spill(dir / "run/notes.txt", "no dump");
    fs::create_directory_symlink("..", dir / "run/up");
    fs::create_symlink("step_2/fc.weight.npy", dir / "run/z.npy");
    auto reader = must(open_tensors(dir / "run", {}));
    CHECK(names(*reader) ==
          std::vector<std::string>{"fc.weight@2#0", "layer1/conv@2#0", "data@2#1", "fc.weight@10#0", "z@0#0"});
    REQUIRE(reader->skipped().size() == 2);
    CHECK(reader->skipped()[0].name == "notes.txt");
    CHECK(reader->skipped()[1].name == "up");
    for (std::size_t i = 0; i < reader->tensors().size(); ++i) CHECK(must(read_tensor(*reader, i)).size() == 303 * 4);
    CHECK(reader->finish());
    CHECK(reader->origin().entries[0] == OriginEntry{"", "format", "folder"});
    CHECK(reader->origin().entries[1] == OriginEntry{"step_2/fc.weight.npy", "folder.file", "0 1"});
    CHECK(reader->origin().entries[2] == OriginEntry{"", "format", "npy"});

    // The folder's own name counts, however it is spelled, and options replace it all.
    CHECK(names(*must(open_tensors(dir / "run/step_2/", {})))[0] == "fc.weight@2#0");
    CHECK(names(*must(open_tensors(dir / "run/step_2/layer1/..", {})))[0] == "fc.weight@2#0");
    ReadOptions options;
    options.step = 5;
    CHECK(names(*must(open_tensors(dir / "run/step_2", options)))[0] == "fc.weight@5#0");
    CHECK_FALSE(open_tensors(dir / "run", options));  // fc.weight twice in step 5
}

TEST_CASE("folder reader: one damaged file refuses the whole, and is named") {
    const Folder dir;
    place(dir, "run/a.npy");
    place(dir, "run/b.npy", kData / "edge/npy_truncated_data.npy");
    auto reader = open_tensors(dir / "run", {});
    REQUIRE_FALSE(reader);
    CHECK(reader.error().code == Errc::truncated);
    CHECK(reader.error().where.find("b.npy") != std::string::npos);
    fs::remove(dir / "run/b.npy");
    spill(dir / "run/c.npy", "no npy, whatever its extension says");
    CHECK_FALSE(open_tensors(dir / "run", {}));
    fs::remove(dir / "run/c.npy");
    place(dir, "run/step_1.npy");
    place(dir, "run/sub/global_step_1.npy");  // "sub", no twin
    CHECK(open_tensors(dir / "run", {}));
    place(dir, "run/iter_1.npy");  // "data" of step 1 again
    CHECK(open_tensors(dir / "run", {}).error().code == Errc::corrupt);
    fs::create_directory(dir / "none");
    CHECK(open_tensors(dir / "none", {}).error().what == "no tensor");
}

TEST_CASE("folder reader: a file that changes meanwhile") {
    const Folder dir;
    place(dir, "run/a.npy");
    place(dir, "run/b.npy");
    auto reader = must(open_tensors(dir / "run", {}));
    CHECK(read_tensor(*reader, 0));
    fs::copy_file(kBig, dir / "run/b.npy", fs::copy_options::overwrite_existing);
    const auto b = read_tensor(*reader, 1);
    REQUIRE_FALSE(b);
    CHECK(b.error().where == "b.npy");
    CHECK(reader->finish().error().code == Errc::io);
}

TEST_CASE("folder reader: files are not kept open") {
    const Folder dir;
    for (int i = 0; i < 300; ++i) place(dir, "run/" + std::to_string(i) + ".npy");
    const auto descriptors = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
    const auto before = descriptors();
    auto reader = must(open_tensors(dir / "run", {}));
    CHECK(descriptors() == before);
    for (std::size_t i = 0; i < 300; ++i) CHECK(read_tensor(*reader, i));
    CHECK(descriptors() <= before + 1);
    CHECK(reader->finish());
}

TEST_CASE("folder writer: the folder comes back as it was") {
    const Folder dir;
    place(dir, "run/step_10/fc.weight.npy");
    place(dir, "run/step_10/big.npy", kBig);
    place(dir, "run/step_2/fc.weight.npy");
    place(dir, "run/step_2/rank_1.npy");
    place(dir, "run/step_2/empty.npy", kData / "edge/npy_empty.npy");
    place(dir, "run/deep/er/zero.npy", kData / "edge/npy_0d.npy");
    REQUIRE(copy_dump(dir / "run", dir / "back"));
    CHECK(tree(dir / "run") == tree(dir / "back"));
    CHECK(copy_dump(dir / "run", dir / "back").error().code == Errc::exists);
    struct stat info;
    REQUIRE(stat((dir / "back/deep/er").c_str(), &info) == 0);
    const mode_t mask = umask(0);
    umask(mask);
    CHECK((info.st_mode & 0777) == (0777 & ~mask));
}

// Tensors in all formats, and what each says of itself. HDF5 and npz may be laid out anew,
// so that tensors and origins are compared and not bytes.
TEST_CASE("folder: files of every format in one dump") {
    const Folder dir;
    const fs::path data = kData / "gradients";
    place(dir, "run/step_1/w.npy");
    place(dir, "run/step_1/a.npz", data / "mlp_step1500_stored.npz");
    place(dir, "run/step_1/b.safetensors", data / "mlp_step5_mixed.safetensors");
    place(dir, "run/c.h5", data / "resnet20_nested_f16.h5");
    auto reader = must(open_tensors(dir / "run", {}));
    std::size_t below_a = 0;
    for (const auto& info : reader->tensors()) {
        below_a += info.name.starts_with("a/");
        if (!info.name.starts_with("c/")) CHECK(info.step == 1);
    }
    CHECK(below_a == must(open_tensors(data / "mlp_step1500_stored.npz", {}))->tensors().size());
    REQUIRE(copy_dump(dir / "run", dir / "back"));
    CHECK(slurp(dir / "run/step_1/w.npy") == slurp(dir / "back/step_1/w.npy"));
    CHECK(slurp(dir / "run/step_1/b.safetensors") == slurp(dir / "back/step_1/b.safetensors"));
    auto back = must(open_tensors(dir / "back", {}));
    CHECK(names(*back) == names(*reader));
    CHECK(back->origin() == reader->origin());
    REQUIRE(back->tensors().size() == reader->tensors().size());
    for (std::size_t i = 0; i < reader->tensors().size(); ++i)
        CHECK(must(read_tensor(*back, i)) == must(read_tensor(*reader, i)));
    CHECK(reader->finish());
}

TEST_CASE("folder writer: tensors that are left out") {
    const Folder dir;
    for (const char* file : {"step_1/a.npy", "step_1/b.npy", "step_2/a.npy", "step_2/b.npy"})
        place(dir, std::string("run/") + file);
    auto reader = must(open_tensors(dir / "run", {}));
    auto writer = must(create_folder(dir / "back", reader->origin(), {}));
    const std::vector<TensorInfo> some = {reader->tensors()[1], reader->tensors()[2]};
    REQUIRE(writer->add(some));
    REQUIRE(writer->write(0, 0, bytes_of(must(read_tensor(*reader, 1)))));
    REQUIRE(writer->write(1, 0, bytes_of(must(read_tensor(*reader, 2)))));
    REQUIRE(writer->commit());
    CHECK(fs::exists(dir / "back/step_1/b.npy"));
    CHECK(fs::exists(dir / "back/step_2/a.npy"));
    CHECK_FALSE(fs::exists(dir / "back/step_1/a.npy"));
    CHECK_FALSE(fs::exists(dir / "back/step_2/b.npy"));
    auto strange = must(create_folder(dir / "strange", reader->origin(), {}));
    const TensorInfo other{"other", {1}};
    CHECK(strange->add({&other, 1}).error().code == Errc::invalid_argument);
}

TEST_CASE("folder writer: an origin cannot name a place outside the folder") {
    const Folder dir;
    for (const char* bad : {"../evil.npy", "/evil.npy", "a/../../evil.npy", ".evil.npy", ""}) {
        Origin origin;
        origin.set("", "format", "folder");
        origin.set(bad, "folder.file", "0 1");
        origin.set("", "format", "npy");
        CHECK(create_folder(dir / "out", origin, {}).error().code == Errc::corrupt);
    }
    for (const char* value : {"", "0", "0 x", "x 1", "0 1 ", "0  1", "0 -1"}) {
        Origin origin;
        origin.set("a.npy", "folder.file", value);
        origin.set("", "format", "npy");
        CHECK(create_folder(dir / "out", origin, {}).error().code == Errc::corrupt);
    }
    CHECK(dir.count() == 0);
}
