// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The kinds of matrices there are, as a table: name, numbers it takes, whether it has a seed, and the function that
// makes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/generators/builder.hpp"

namespace tulle::inline TULLE_ABI::io::detail {

// A number in a sentence. A fraction, 0 … 1 with up to six decimals, is kept in millionths.
struct Number {
    std::string name;
    offset_t least = 1;
    bool fraction = false;
};

inline constexpr offset_t millionths = 1'000'000;
inline constexpr std::uint64_t default_seed = 7;

struct Kind {
    std::string name;
    std::vector<std::vector<Number>> forms;  // the lists of numbers it can take, of different lengths
    bool seeded;
    std::string what, example;
    Made (*make)(const Maker&);

    std::string form() const;  // "fem:N,K or fem:NX,NY,NZ,K"
    bool in_parts() const;     // whether its rows can be made apart; twins are made of graphs that all rows need
};

const std::vector<Kind>& kinds();

// What a sentence says, taken apart; ValueError where it says nothing we know. Queue and progress are left for the
// caller.
struct Sentence {
    const Kind* kind;
    std::vector<offset_t> numbers;
    std::uint64_t seed = default_seed;
};
Sentence parse(std::string_view sentence);

// grids.cpp
Made make_identity(const Maker& m);
Made make_diagonal(const Maker& m);
Made make_stencil5(const Maker& m);
Made make_stencil7(const Maker& m);
Made make_stencil9(const Maker& m);
Made make_stencil27(const Maker& m);
Made make_fem(const Maker& m);
Made make_banded(const Maker& m);
Made make_arrow(const Maker& m);

// elasticity.cpp
Made make_elasticity2d(const Maker& m);
Made make_elasticity3d(const Maker& m);
Made make_coordinates(const Maker& m);

// graphs.cpp
Made make_uniform(const Maker& m);
Made make_rmat(const Maker& m);
Made make_road(const Maker& m);
Made make_pruned(const Maker& m);

// triangles.cpp
Made make_chain(const Maker& m);
Made make_levels(const Maker& m);

// twins_*.cpp
Made make_mc2depi(const Maker& m);
Made make_qcd5_4(const Maker& m);
Made make_cant(const Maker& m);
Made make_consph(const Maker& m);
Made make_pdb1hys(const Maker& m);
Made make_pwtk(const Maker& m);
Made make_rma10(const Maker& m);
Made make_shipsec1(const Maker& m);
Made make_mac_econ(const Maker& m);
Made make_cop20k_a(const Maker& m);
Made make_scircuit(const Maker& m);
Made make_webbase(const Maker& m);

}  // namespace tulle::inline TULLE_ABI::io::detail
