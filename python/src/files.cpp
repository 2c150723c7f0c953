// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading, writing, generating and looking at matrices, for Python. Long work asks Python now and then whether the user
// has pressed Ctrl-C.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "tulle/features.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/validate.hpp"

namespace tulle::python {
namespace {

// Called without Python's lock.
Progress report_to(const nb::object& callback)
{
    return [&callback](double share) {
        stop_on_interrupt();
        if (callback.is_none()) return;
        const nb::gil_scoped_acquire hold;
        callback(share);
    };
}

// The name of a file, which may be no text.
std::string file_of(const nb::bytes& name) { return {name.c_str(), name.size()}; }

template <class V>
nb::tuple give(Csr<V>&& a)
{
    const index_t rows = a.rows, cols = a.cols;
    return nb::make_tuple(rows, cols, to_python(std::move(a)));
}

nb::dict to_dict(const std::string& file, const io::FileInfo& info)
{
    nb::dict d;
    d["format"] = info.format, d["field"] = info.field, d["symmetry"] = info.symmetry, d["stored"] = info.stored,
    d["comment"] = text_of(info.comment), d["values"] = info.values;
    d["duplicates"] = info.duplicates.count;
    nb::list said;
    for (const io::Warning& w : io::warnings(file, info)) said.append(text_of(w.message));
    d["warnings"] = said;
    return d;
}

template <class V>
nb::tuple read(Place& place, const nb::bytes& name, const std::string& format,
               std::optional<std::uint64_t> random_values, bool real_part, bool strict, const nb::object& progress)
{
    const Context& ctx = place.get();
    const std::string file = file_of(name);
    io::FileInfo info;
    Csr<V> a = [&] {
        const Progress report = report_to(progress);
        const nb::gil_scoped_release free;
        return io::read<V>(ctx, file,
                           {.complex = real_part ? io::Complex::real_part : io::Complex::refuse,
                            .random_values = random_values,
                            .format = format,
                            .strict = strict,
                            .progress = report},
                           &info);
    }();
    return nb::make_tuple(give(std::move(a)), to_dict(file, info));
}

template <class V>
void write(Place& place, const nb::bytes& name, const Compressed& a, const std::string& comment, bool symmetric,
           bool pattern, const std::string& format, const nb::object& progress)
{
    const Context& ctx = place.get();
    const AnyCsr<V> view = a.as_rows<V>();
    const std::string file = file_of(name);
    const Progress report = report_to(progress);
    const nb::gil_scoped_release free;
    Buffer<offset_t> wide;
    io::write(ctx, file, matrix::widened<CsrView<V>>(ctx, view, wide),
              {.comment = comment, .symmetric = symmetric, .pattern = pattern, .format = format, .progress = report});
}

template <class V>
nb::tuple generate(Place& place, const std::string& sentence, const nb::object& progress)
{
    const Context& ctx = place.get();
    Csr<V> a = [&] {
        const Progress report = report_to(progress);
        const nb::gil_scoped_release free;
        return io::generate<V>(ctx, sentence, report);
    }();
    return give(std::move(a));
}

template <class V>
nb::dict info(Place& place, const Compressed& a)
{
    const Context& ctx = place.get();
    const AnyCsr<V> view = a.as_rows<V>();
    const Features f = [&] {
        const nb::gil_scoped_release free;
        Buffer<offset_t> wide;
        return features(ctx, matrix::widened<CsrView<V>>(ctx, view, wide));
    }();
    nb::dict d;
    d["rows"] = f.row.rows, d["cols"] = f.row.cols, d["nnz"] = f.row.nonzeros, d["density"] = f.density;
    d["shortest_row"] = f.row.shortest, d["longest_row"] = f.row.longest, d["mean_row"] = f.row.mean,
    d["row_deviation"] = f.row.deviation;
    d["empty_rows"] = f.row.empty_rows, d["empty_cols"] = f.empty_cols, d["lower_bandwidth"] = f.lower_bandwidth,
    d["upper_bandwidth"] = f.upper_bandwidth;
    d["diagonal"] = f.diagonal, d["pattern_symmetry"] = f.pattern_symmetry, d["value_symmetry"] = f.value_symmetry,
    d["lower_levels"] = f.lower_levels;
    d["products"] = f.products, d["sorted"] = a.sorted, d["unique"] = a.unique;
    return d;
}

nb::list generators()
{
    nb::list all;
    for (const io::Generator& g : io::generators()) all.append(nb::make_tuple(g.name, g.form, g.what, g.example));
    return all;
}

template <class V>
void bind(nb::module_& m, const std::string& suffix)
{
    m.def(("read_" + suffix).c_str(), &read<V>, "context"_a, "file"_a, "format"_a, "random_values"_a.none(),
          "real_part"_a, "strict"_a, "progress"_a.none());
    m.def(("write_" + suffix).c_str(), &write<V>, "context"_a, "file"_a, "a"_a, "comment"_a, "symmetric"_a, "pattern"_a,
          "format"_a, "progress"_a.none());
    m.def(("generate_" + suffix).c_str(), &generate<V>, "context"_a, "sentence"_a, "progress"_a.none());
    m.def(("info_" + suffix).c_str(), &info<V>, "context"_a, "a"_a);
}

}  // namespace

void bind_files(nb::module_& m)
{
    bind<double>(m, "f64");
    bind<float>(m, "f32");
    m.def("generators", &generators);
}

}  // namespace tulle::python
