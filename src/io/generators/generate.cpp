// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a sentence to a matrix: the pattern is made by the function of its kind, the values by one of five rules.
#include "tulle/generate.hpp"

#include "base/hash.hpp"
#include "io/generators/kinds.hpp"
#include "io/generators/part.hpp"
#include "tulle/io.hpp"
#include "tulle/outline.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

using detail::Made;
using detail::Maker;
using detail::Values;

// value(i, j, entries in row i) for every entry.
template <class V, class F>
void fill_values(const Maker& m, const detail::Pattern& p, V* to, const F& value)
{
    detail::for_each(m, p.rows, 0.85, 1.0, [&](offset_t i) {
        const auto row = p.row(static_cast<index_t>(i));
        V* out = to + p.row_begin.data()[i];
        for (std::size_t k = 0; k < row.size(); ++k)
            out[k] = static_cast<V>(value(static_cast<index_t>(p.first + i), row[k], row.size()));
    });
}

double dominant_value(index_t i, index_t j, std::size_t row_length)
{
    const double v = pattern_value(i, j);
    return i == j ? v + 0.5 : (v - 1.0) / static_cast<double>(row_length - 1);
}

template <class V>
void fill_values(const Maker& m, const Made& made, V* to)
{
    const detail::Pattern& p = made.pattern;
    switch (made.values) {
    case Values::position:
        return fill_values(m, p, to, [](index_t i, index_t j, std::size_t) { return pattern_value(i, j); });
    case Values::ones: return fill_values(m, p, to, [](index_t, index_t, std::size_t) { return 1.0; });
    case Values::stencil:
        return fill_values(m, p, to, [&](index_t i, index_t j, std::size_t) { return i == j ? made.diagonal : -1.0; });
    case Values::dominant: return fill_values(m, p, to, dominant_value);
    case Values::function:
        return fill_values(m, p, to, [&](index_t i, index_t j, std::size_t) { return made.value(i, j); });
    }
}

template <class V>
RowsOfPart<V> make(const Maker& m, const detail::Kind& kind)
{
    Made made = kind.make(m);
    Buffer<V> value(m.q, made.pattern.col.size());
    fill_values(m, made, value.data());
    return {{made.pattern.rows, made.pattern.cols, std::move(made.pattern.row_begin), std::move(made.pattern.col),
             std::move(value)},
            made.pattern.all_rows};
}

std::vector<Generator> list_generators()
{
    std::vector<Generator> all;
    for (const detail::Kind& kind : detail::kinds()) all.push_back({kind.name, kind.form(), kind.what, kind.example});
    return all;
}

}  // namespace

const std::vector<Generator>& generators()
{
    static const std::vector<Generator> all = list_generators();
    return all;
}

template <class V>
Csr<V> generate(const Context& ctx, std::string_view sentence, const Progress& progress)
{
    const detail::Sentence said = detail::parse(sentence);
    const Maker m{std::string(sentence), said.numbers, said.seed, ctx.host(), sizeof(V), progress};
    return make<V>(m, *said.kind).rows;
}

bool generates_parts(std::string_view sentence) { return detail::parse(sentence).kind->in_parts(); }

template <class V>
RowsOfPart<V> generate_part(const CpuQueue& q, std::string_view sentence, int part, int parts)
{
    const detail::Sentence said = detail::parse(sentence);
    return make<V>({std::string(sentence), said.numbers, said.seed, q, sizeof(V), {}, part, parts}, *said.kind);
}

template <class V>
std::uint64_t fingerprint(const CsrView<V>& a)
{
    check_arrays(Context::cpu(1), a);
    const Findings found = validate_pattern(Context::cpu(), a);
    require<ValueError>(found.ok(), found.problem);
    std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += hash_of(99, i, a.col[k]);
    return sum;
}

double pattern_value(index_t i, index_t j, std::uint64_t seed) { return 0.5 + unit(hash_of(seed, i, j)); }

template Csr<float> generate(const Context&, std::string_view, const Progress&);
template Csr<double> generate(const Context&, std::string_view, const Progress&);
template RowsOfPart<float> generate_part(const CpuQueue&, std::string_view, int, int);
template RowsOfPart<double> generate_part(const CpuQueue&, std::string_view, int, int);
template std::uint64_t fingerprint(const CsrView<float>&);
template std::uint64_t fingerprint(const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::io
