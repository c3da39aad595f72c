// gradz diff A B: what is in one dump and not in the other, and how far apart the values are.
#include <memory>
#include <tuple>

#include "command.hpp"
#include "dump.hpp"
#include "pipeline/describe.hpp"
#include "report_options.hpp"

namespace gradz::cli {
namespace {

struct DiffOptions {
    std::string a, b;
    InputOptions input;
    RunOptions run;
    ReportOptions report;
    bool structure = false;
    std::optional<double> max_nmse;
};

using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;

std::vector<Key> keys_of(const TensorSource& source) {
    std::vector<Key> keys;
    for (const auto& info : source.tensors()) keys.emplace_back(info.name, info.step, info.worker);
    return keys;
}

std::string text_of(const Key& key) {
    const auto& [name, step, worker] = key;
    return name + (step ? " step " + std::to_string(step) : "") + (worker ? " worker " + std::to_string(worker) : "");
}

std::string text_of(const TensorInfo& info) {
    std::string shape;
    for (const auto dim : info.shape) shape += (shape.empty() ? "" : "x") + std::to_string(dim);
    return std::string(row_of(info.dtype).name) + "[" + shape + "]";
}

// The name of an .npy tensor is that of its file, which is no part of the dump.
bool nameless(const Dump& dump) {
    const std::string* format = dump.origin.find("", "format");
    return dump.source->tensors().size() == 1 && format && (*format == "npy" || *format == "raw");
}

class Diff {
public:
    Diff(Dump& a, Dump& b) : a_(a), b_(b) { match(), compare_origins(); }

    std::vector<std::string> differences;  // of structure, one line each
    std::vector<TensorPair> pairs;         // of the same shape

private:
    void match() {
        const auto &ta = a_.source->tensors(), &tb = b_.source->tensors();
        if (ta.size() == 1 && tb.size() == 1 && (nameless(a_) || nameless(b_))) return pair(0, 0);
        const auto ka = keys_of(*a_.source), kb = keys_of(*b_.source);
        std::map<Key, std::size_t> places;
        for (std::size_t j = 0; j < kb.size(); ++j) places[kb[j]] = j;
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < ka.size(); ++i) {
            const auto at = places.find(ka[i]);
            if (at == places.end()) {
                differences.push_back(text_of(ka[i]) + ": only in " + a_.file);
                continue;
            }
            pair(i, at->second);
            order.push_back(at->second);
            places.erase(at);
        }
        for (const auto& key : kb)
            if (places.count(key)) differences.push_back(text_of(key) + ": only in " + b_.file);
        if (!std::is_sorted(order.begin(), order.end())) differences.push_back("the tensors are in another order");
    }

    void pair(std::size_t i, std::size_t j) {
        const TensorInfo &x = a_.source->tensors()[i], &y = b_.source->tensors()[j];
        if (x.shape != y.shape || x.dtype != y.dtype)
            differences.push_back(x.name + ": " + text_of(x) + " and " + text_of(y));
        const bool comparable = x.dtype == y.dtype || (quantizable(x.dtype) && quantizable(y.dtype));
        if (x.shape == y.shape && comparable) pairs.push_back({i, j});
    }

    // Groups, attributes, layouts: only where both come from the same kind of file.
    void compare_origins() {
        const std::string *fa = a_.origin.find("", "format"), *fb = b_.origin.find("", "format");
        if (!fa || !fb || *fa != *fb) return;
        const bool rename = nameless(a_) && nameless(b_);
        const auto facts = [&](const Dump& dump) {
            std::map<std::pair<std::string, std::string>, std::string> out;
            for (const auto& e : dump.origin.entries)
                if (e.key != "writer") out[{rename ? "" : e.object, e.key}] = e.value;
            return out;
        };
        const auto x = facts(a_), y = facts(b_);
        const auto name = [](const auto& key) { return (key.first.empty() ? "file" : key.first) + ": " + key.second; };
        for (const auto& [key, value] : x) {
            const auto at = y.find(key);
            if (at == y.end()) differences.push_back(name(key) + " only in " + a_.file);
            else if (at->second != value) differences.push_back(name(key) + " differs");
        }
        for (const auto& [key, value] : y)
            if (!x.count(key)) differences.push_back(name(key) + " only in " + b_.file);
    }

    Dump &a_, &b_;
};

Json pair_json(const TensorInfo& info, const Comparison& c) {
    const auto figure = [](const std::optional<double>& v) { return v ? number_json(*v) : Json(nullptr); };
    return {{"name", info.name},
            {"step", info.step},
            {"worker", info.worker},
            {"shape", info.shape},
            {"dtype", row_of(info.dtype).name},
            {"elements", c.elements()},
            {"identical", c.identical()},
            {"differing", c.differing()},
            {"nmse", figure(c.nmse())},
            {"max_abs_error", figure(c.max_abs_error())},
            {"cosine", figure(c.cosine())}};
}

Result<Dump> open_one(const std::string& file, const InputOptions& input) {
    GRADZ_TRY(auto dumps, open_dump(file, input));
    if (dumps.size() > 1)
        return Error{Errc::unsupported, std::to_string(dumps.size()) + " streams in one file: diff takes one", ""};
    return std::move(dumps.front());
}

int run(const DiffOptions& opt) {
    if (auto usable = check_output(opt.report, {opt.a, opt.b}); !usable) return print_error("diff", usable.error());
    auto a = open_one(opt.a, opt.input);
    if (!a) return print_error(opt.a, a.error());
    auto b = open_one(opt.b, opt.input);
    if (!b) return print_error(opt.b, b.error());
    print_notes(*a), print_notes(*b);
    Diff diff(*a, *b);
    int status = diff.differences.empty() ? kOk : kVerdict;
    FileReport file;
    file.head = {{"file", opt.a}, {"other", opt.b}, {"differences", diff.differences}};
    if (!opt.structure) {
        auto compared = compare_dumps(*a->source, *b->source, diff.pairs, thread_count(opt.run));
        if (!compared) return print_error(opt.a + " and " + opt.b, compared.error());
        for (std::size_t i = 0; i < compared->size(); ++i) {
            const Comparison& c = (*compared)[i];
            file.tensors.push_back(pair_json(a->source->tensors()[diff.pairs[i].a], c));
            const bool within = !opt.max_nmse || (*opt.max_nmse == 0 ? c.identical() : c.within(*opt.max_nmse));
            file.tensors.back()["within"] = opt.max_nmse ? Json(within) : Json(nullptr);
            if (!within) status = kVerdict;
        }
    }
    std::string lines;
    for (const auto& line : diff.differences) lines += printable(line) + '\n';
    const std::vector<std::string> shown =
        opt.structure
            ? std::vector<std::string>{}
            : std::vector<std::string>{"name", "shape", "dtype", "identical", "nmse", "max_abs_error", "cosine"};
    Report report{"diff", {std::move(file)}, nullptr};
    return std::max(status, emit(report, opt.report, shown, lines));
}

constexpr char kDiffFooter[] =
    "Exit status: 0 nothing found, 3 tensors are missing or have another shape, dtype, order or attribute,\n"
    "or an NMSE is above --max-nmse (0: not the same bits).\n"
    "Examples:\n"
    "  gradz diff step.h5 step.h5.grz            what compression did, tensor by tensor\n"
    "  gradz diff --structure a.npz b.npz        names, shapes, dtypes, attributes alone\n"
    "  gradz diff --max-nmse 0.1 a.h5 a.h5.grz   a gate for scripts";

}  // namespace

void add_diff(CLI::App& app, int& status) {
    auto opt = std::make_shared<DiffOptions>();
    auto* cmd = app.add_subcommand("diff", "Compare two dumps or streams");
    cmd->footer(kDiffFooter);
    cmd->option_defaults()->always_capture_default();
    cmd->add_option("A", opt->a, "the reference")->required();
    cmd->add_option("B", opt->b, "what is compared with it")->required();
    cmd->add_flag("--structure", opt->structure, "names, shapes, dtypes, order and attributes, not values");
    auto& max_nmse = opt->max_nmse;
    add_number(
        *cmd, "--max-nmse", [&max_nmse](double x) { max_nmse = x; },
        "largest squared error of a tensor, relative to its squared norm")
        ->type_name("X");
    add_input_options(*cmd, opt->input);
    add_report_options(*cmd, opt->report);
    add_run_options(*cmd, opt->run);
    cmd->callback([opt, &status] { status = run(*opt); });
}

}  // namespace gradz::cli
