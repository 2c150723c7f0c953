// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Command lines with mistakes: what was probably meant, which help tells more, options that are refused because they
// would do nothing, and outputs that are refused before any work is done.
#include "apps/cli/support/hints.hpp"
#include "base/suggest.hpp"
#include "cli/program.hpp"
#include "tulle/context.hpp"
#include "tulle/text.hpp"

#include <regex>

namespace tulle::test {
namespace {

class Usage : public Program {
protected:
    std::string refused(const std::string& words, int code = 2) const
    {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, code) << words << "\n" << run.err << run.out;
        const bool as_json = words.find("--json") != words.npos && !words.starts_with("bench");
        EXPECT_EQ(run.out.empty(), !as_json) << words << "\n" << run.out;
        if (as_json) {
            EXPECT_EQ(nlohmann::json::parse(run.out)["error"]["exit_code"], code) << words;
        }
        EXPECT_EQ(run.err.find("::"), run.err.npos) << words << "\n" << run.err;
        return run.err;
    }
    void expect_says(const std::string& words, const std::string& part, int code = 2) const
    {
        const std::string said = refused(words, code);
        EXPECT_NE(said.find(part), said.npos) << words << "\n" << said;
    }
};

TEST(Suggest, CountsLettersThatDiffer)
{
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("spmw", "spmv"), 1u);
    EXPECT_EQ(edit_distance("psmv", "spmv"), 1u) << "two letters swapped";
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Suggest, FindsTheNearestOrNothing)
{
    const std::vector<std::string> known{"rows", "split", "scatter"};
    EXPECT_EQ(nearest_word("rws", known), "rows");
    EXPECT_EQ(nearest_word("spilt", known), "split");
    EXPECT_EQ(nearest_word("scat", known), "scatter");
    EXPECT_EQ(nearest_word("banana", known), "");
    EXPECT_EQ(nearest_word("-o", std::vector<std::string>{"-h", "-q"}), "") << "nothing of it is left";
    EXPECT_EQ(nearest_word("", known), "");
}

TEST_F(Usage, MistypedWordsGetASuggestion)
{
    const std::pair<const char*, const char*> cases[] = {{"rnu", "'run'"},
                                                         {"run spmw stencil5:4", "'spmv'"},
                                                         {"plan spgem stencil5:4", "'spgemm'"},
                                                         {"tune sptsv stencil5:4", "'sptrsv'"},
                                                         {"--hlp", "'--help'"},
                                                         {"run spmv --hlp", "'--help'"},
                                                         {"run spmv stencil5:4 --verfy", "'--verify'"},
                                                         {"spy stencil5:4 --otu a.png", "'--out'"},
                                                         {"run spmv stencil5:4 --formt=csr", "'--format'"},
                                                         {"run spmv stencil5:4 --format csd", "'csr'"},
                                                         {"run spmv stencil5:4 --type f46", "'f64'"},
                                                         {"info stencil5:4 --color alwas", "'always'"},
                                                         {"gen stencl5:4 -o a.mtx", "'stencil5'"},
                                                         {"info stencl5:4", "'stencil5'"},
                                                         {"info twin:canz", "'twin:cant'"},
                                                         {"run spmv stencil5:4 --policy rws", "'rows'"},
                                                         {"run spmm stencil5:4 --kernel tils", "'tiles'"},
                                                         {"run spmm stencil5:4 --kernel tiles --order bsb", "'bsa'"},
                                                         {"run spgemm stencil5:4 --policy hsh", "'hash'"},
                                                         {"run spgemm stencil5:4 --refill fastes", "'fastest'"},
                                                         {"completion bsh", "'bash'"},
                                                         {"solve stencil5:4 --method cgg", "'cg'"},
                                                         {"solve stencil5:4 --preconditioner jacbi", "'jacobi'"},
                                                         {"solve stencil5:4 --preconditioner ilu1+rcm", "'ilu0'"},
                                                         {"convert stencil5:4 - --output-format mtz", "'.mtx'"}};
    for (const auto& [words, meant] : cases) expect_says(words, std::string("did you mean ") + meant);
    expect_says("info stencl5", "did you mean 'stencil5'", 3);
    expect_says("convert stencil5:4 a.mtz", "did you mean '.mtx'");
    if (json("doctor")["build"]["pictures"])
        expect_says("spy stencil5:4 -o a.png --permute degre", "did you mean 'degree'", 3);
}

TEST_F(Usage, HintsNameTheHelpOfTheVerb)
{
    for (const char* words : {"run spmv stencil5:4 --frobnicate", "run spmv", "run spmv stencil5:4 --repeat 0",
                              "run spmv stencil5:4 --block 2", "run spmv stencil5:4 --out"})
        expect_says(words, "tulle run spmv --help");
    expect_says("run", "tulle run --help");
    expect_says("frobnicate", "tulle --help");
}

TEST_F(Usage, AnOptionIsNoValue)
{
    expect_says("spy stencil5:4 --out --size 100", "--out needs a value");
    expect_says("convert stencil5:4 a.mtx --comment --quiet", "--comment needs a value");
    expect_says("gen stencil5:4 -o -q", "-o needs a value");
    expect_says("run spmv stencil5:4 --beta", "--beta needs a value");
    EXPECT_EQ(tulle("convert stencil5:4 a.mtx --comment=--quiet").code, 0);
    EXPECT_EQ(tulle("run spmv stencil5:4 --beta -0.5 --verify").code, 0) << "a negative number is a value";
    if (!json("doctor")["build"]["bench"].is_null()) {
        expect_says("bench spmv stencil5:4 --json --quiet", "--json needs a value");
        expect_says("bench spmv stencil5:4 --jsn", "did you mean '--json'");
        EXPECT_FALSE(std::filesystem::exists(folder / "--quiet"));
        refused("bench spmv " +
                    file("claims.mtx", "%%MatrixMarket matrix coordinate real general\n100000000 10 1\n1 1 1\n") +
                    " --quiet",
                3);
    }
}

TEST_F(Usage, OptionsWithoutEffectAreRefused)
{
    for (const char* words : {"run spmv stencil5:4 --device 3",
                              "run spmm stencil5:4 --device 3",
                              "run spgemm stencil5:4 --device 3",
                              "run sptrsv stencil5:4 --backend cpu --device 3",
                              "run sptrsv stencil5:4 --backend cpu --accuracy fast",
                              "plan spmv stencil5:4 --device 3",
                              "tune sptrsv stencil5:4 --backend cpu --device 3",
                              "explain spgemm stencil5:4 --device 3",
                              "explain spmm stencil5:4 --backend cpu --device 0",
                              "spy stencil5:4 -o a.png --levels --reorder bsa",
                              "spy stencil5:4 -o a.png --levels --permute degree",
                              "spy stencil5:4 -o a.png --tau 8",
                              "spy stencil5:4 -o a.png --delta 0.5",
                              "spy stencil5:4 -o a.png --alpha 0.5",
                              "spy stencil5:4 -o a.png --reorder pack --alpha 0.5",
                              "spy stencil5:4 -o a.png --seed 3",
                              "spy stencil5:4 -o a.png --permute degree --seed 3",
                              "run spmv stencil5:4 --block 2",
                              "run spmv stencil5:4 --lanes 4",
                              "run spmv stencil5:4 --paper",
                              "run spmm stencil5:4 --delta 0.5",
                              "run spmm stencil5:4 --search",
                              "run spmm stencil5:4 --order pack",
                              "run spmm stencil5:4 --split rows",
                              "run spgemm stencil5:4 --seed 3",
                              "plan spmv stencil5:4 --paper --tolerance 0.1",
                              "explain spmm stencil5:4 --repeat 0 --seed 2",
                              "gen --list stencil5:4",
                              "gen --list --stats",
                              "gen stencil5:4 --stats -o a.mtx",
                              "gen stencil5:4 --stats --type f32",
                              "doctor --threads 2",
                              "doctor --budget 1GiB",
                              "info stencil5:4 --real-part",
                              "info stencil5:4 --trust-header",
                              "info stencil5:4 --values random:1",
                              "info stencil5:4 --strict",
                              "info stencil5:4 --input-format mtx",
                              "run spgemm stencil5:4 --output-format mtx",
                              "gen stencil5:4 --stats --output-format mtx",
                              "convert stencil5:4 - --output-format npz --comment hello",
                              "tune sptrsv stencil5:4 --json --show 3",
                              "convert stencil5:4 a.npz --comment hello",
                              "explain spmm stencil5:4 --backend cpu --all",
                              "explain spmm stencil5:4 --type f32 --bsa",
                              "plan spgemm stencil5:4 --devices 2 --refill fastest",
                              "run spmv stencil5:4 --json --verbose",
                              "solve stencil5:4 --method cg --restart 5",
                              "solve stencil5:4 --graphs never",
                              "solve stencil5:4 --preconditioner jacobi --unknowns-per-node 2",
                              "solve stencil5:4 --preconditioner ic0 --near-null-space identity:16"})
        expect_says(words, "has no effect");
    if (!why_no_cuda().empty()) {
        expect_says("demo stencil5:4 --device 3", "--device has no effect");
        expect_says("run sptrsv stencil5:4 --device 3", "--device has no effect");
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "a.mtx"));
}

// Whether they have an effect is known once a method is chosen.
TEST_F(Usage, OptionsThatTheChosenMethodIgnoresAreTold)
{
    for (const std::string option : {"--restart 5", "--near-null-space uniform:16,1,1", "--unknowns-per-node 2"}) {
        const auto run = tulle("solve stencil5:4 " + option);
        EXPECT_EQ(run.code, 0) << run.err;
        EXPECT_NE(run.err.find(option.substr(0, option.find(' ')) + " has no effect: "), run.err.npos) << run.err;
    }
    EXPECT_EQ(tulle("solve stencil5:4 --method gmres --restart 5").err.find("no effect"), std::string::npos);
}

TEST_F(Usage, NumbersOutOfRangeAreTold)
{
    const std::string said = refused("tune sptrsv stencil5:4 --seconds 0");
    EXPECT_NE(said.find("--seconds: must be a number greater than 0, not '0'"), said.npos) << said;
    EXPECT_LT(said.size(), 200u);
    for (const char* words : {"run sptrsv stencil5:4 --search -1", "plan spmv stencil5:4 --link nan",
                              "run spmm stencil5:4 --expected-calls inf"})
        expect_says(words, "greater than 0");
    expect_says("solve stencil5:4 --tolerance abc", "--tolerance: must be a number from 0 on, not 'abc'");
    expect_says("solve stencil5:4 --max-iterations -1", "--max-iterations: must be a number from 0 on, not '-1'");
    expect_says("rank stencil5:4 --damping 1.5", "--damping: must be a number from 0 to 1, not '1.5'");
    expect_says("run sddmm stencil5:4 --k 0", "--k: must be a number from 1 to 1000000, not '0'");
}

TEST_F(Usage, ChunksAreNamed)
{
    expect_says("run spgemm stencil5:10 --chunks foo", "--chunks: 'foo' is not an amount of memory");
    expect_says("run spgemm stencil5:10 --chunks 3", "raise --chunks to at least ", 4);
    expect_says("run spgemm stencil5:100 --chunks 1GiB --budget 1MiB", "raise --budget to at least ", 4);
    expect_says("info stencil5:10 --budget foo", "--budget: 'foo'");
    expect_says("info stencil7:60 --budget 1MiB", "raise --budget", 4);
}

// Whoever does what hints say gets there: every amount is larger than the one before.
TEST_F(Usage, AmountsOfMemoryInHintsSuffice)
{
    const std::regex amount("(--[a-z]+) to at least ([0-9.]+[KMG]?i?B) ");
    for (const char* words : {"solve stencil5:40 --preconditioner jacobi --budget ", "run spmv stencil5:40 --budget ",
                              "run spgemm stencil7:6 --repeat 0 --chunks ", "run spmm stencil5:20 --budget "}) {
        std::string now = "1KiB";
        Outcome run = tulle(words + now);
        for (int round = 0; run.code == 4 && round < 100; ++round) {
            std::smatch found;
            ASSERT_TRUE(std::regex_search(run.err, found, amount)) << words << now << "\n" << run.err;
            ASSERT_GT(parse_bytes(found[2].str()), parse_bytes(now)) << words << now << "\n" << run.err;
            now = found[2];
            run = tulle(words + now);
        }
        EXPECT_EQ(run.code, 0) << words << now << "\n" << run.err;
    }
}

TEST_F(Usage, ScalarsFitTheirSums)
{
    for (const char* verb : {"run spmv", "run spmm", "run sptrsv"}) {
        const std::string words = std::string(verb) + " identity:4 --repeat 1 --verify ";
        expect_says(words + "--alpha 1e400", "--alpha: must be a number");
        expect_says(words + "--alpha inf", "--alpha: must be a number");
        expect_says(words + "--type f32 --alpha 1e39", "--alpha 1e+39 does not fit");
        EXPECT_EQ(tulle(words + "--type f32 --alpha 1e38").code, 0);
        EXPECT_EQ(tulle(words + "--alpha -1e39").code, 0);
    }
    expect_says("run spmm identity:4 --type f16 --beta 1e39", "--beta 1e+39 does not fit");
}

TEST_F(Usage, WordsAreThoseOfTheOtherMessages)
{
    expect_says("convert stencil5:4", "tulle convert: FILE is missing");
    expect_says("info", "tulle info: MATRIX is missing");
    expect_says("spy stencil5:4", "tulle spy: --out is missing");
    expect_says("completion", "tulle completion: SHELL is missing");
    expect_says("info stencil5:4 extra", "tulle info takes no further argument, but there is 'extra'");
    expect_says("tune", "there is sptrsv; ");
    expect_says("spgemm stencil5:4", "did you mean tulle run spgemm, tulle plan spgemm, tulle explain spgemm?");
    expect_says("help", "did you mean 'tulle --help'?");
    expect_says("help info", "did you mean 'tulle info --help'?");
    expect_says("frobnicate", "completion, manual; ");
    for (const char* seed : {"-1", "99999999999999999999999", "1.5"})
        expect_says(std::string("run spmv stencil5:4 --seed ") + seed, "--seed: must be a whole number from 0 to ");
    const std::string head = "%%MatrixMarket matrix coordinate real general\n";
    expect_says("info " + file("more.mtx", head + "2 2 1\n1 1 1\n2 2 1\n"), "more than the 1 entry that", 3);
    expect_says("solve --method cg --preconditioner ilu0+match " + file("empty.mtx", head + "2 2 1\n2 2 1\n"),
                "row 0 (counted from 0) has no nonzero");
}

// What follows "--" is no option.
TEST_F(Usage, TwoDashesEndTheOptions)
{
    file("-dash.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    EXPECT_EQ(parsed(tulle("info --json -- -dash.mtx"))["rows"], 1);
    expect_says("info -dash.mtx", "no option '-d'");
}

// Every verb that can write a format, and no other, is named.
TEST_F(Usage, HintsAboutFormatsAreTrue)
{
    expect_says("convert stencil5:4 a.foo", "written are .mtx .mtx.gz .npz .smtx .smtx.gz .tulle .petsc .petsc.gz");
    for (const char* words : {"gen stencil5:4 -o x.smtx", "run spgemm stencil5:4 --out C.smtx"})
        expect_says(words, "tulle convert --pattern");
    EXPECT_EQ(refused("convert stencil5:4 no/such.mtx", 3).find("as it was"), std::string::npos);
    if (json("doctor")["build"]["bench"].is_null()) return;
    EXPECT_NE(tulle("bench spmv missing.mtx").err.find("'tulle gen --list'"), std::string::npos);
}

// The folder has nothing but what the test wrote there, and no matrix was made or read.
TEST_F(Usage, OutputsAreCheckedBeforeAnyWork)
{
    std::filesystem::create_directory(folder / "taken.mtx");
    const std::pair<const char*, int> cases[] = {{"run spgemm stencil5:4 --out c.foo", 2},
                                                 {"run spgemm stencil5:4 --out no/such/c.mtx", 3},
                                                 {"run spgemm stencil5:4 --out taken.mtx", 3},
                                                 {"run spgemm stencil5:4 --out c.smtx", 2},
                                                 {"run spgemm stencil5:4 --out c.mtx.xz", 3},
                                                 {"run spmv stencil5:4 --out no/such/y.txt", 3},
                                                 {"run spmv stencil5:4 --out .", 3},
                                                 {"rank stencil9:4 --out no/such/r.txt", 3},
                                                 {"paths stencil5:4 --source 0 --out no/such/p.txt", 3},
                                                 {"components stencil5:4 --out no/such/c.txt", 3},
                                                 {"cores stencil5:4 --out no/such/c.txt", 3},
                                                 {"cluster rmat:4,2 --out no/such/c.txt", 3},
                                                 {"solve stencil5:4 --output no/such/x.txt", 3},
                                                 {"solve stencil5:4 --output x.npz", 2},
                                                 {"solve stencil5:4 --output x.CSV", 2},
                                                 {"solve stencil5:4 --output x.petsc", 2},
                                                 {"solve stencil5:4 --output x.mtx.xz", 3},
                                                 {"run spmv stencil5:4 --out y.mtx", 2},
                                                 {"rank stencil9:4 --out r.json", 2},
                                                 {"report stencil5:4 -o r.pdf", 2},
                                                 {"report stencil5:4 -o no/such/r.html", 3},
                                                 {"convert stencil5:4 a.foo", 2},
                                                 {"convert stencil5:4 a.npz --pattern", 2},
                                                 {"gen stencil5:4 -o no/such/a.mtx", 3},
                                                 {"spy stencil5:4 -o a.gif", 2},
                                                 {"spy stencil5:4 -o no/such/a.png", 3},
                                                 {"spy stencil5:4 --levels -o no/such/a.png", 3},
                                                 {"demo stencil5:4 --picture no/such/a.png", 3},
                                                 {"run spgemm stencil5:4 --out - --output-format foo", 2},
                                                 {"gen stencil5:4 -o no/such/a.foo --output-format npz", 3},
                                                 {"convert stencil5:4 - --output-format npz --pattern", 2},
                                                 {"spy stencil5:4 -o - --output-format gif", 2},
                                                 {"spy stencil5:4 -o a.foo", 2}};
    const bool draws = json("doctor")["build"]["pictures"];
    for (const auto& [words, code] : cases) {
        if (!draws && (std::string(words).starts_with("spy") || std::string(words).starts_with("demo"))) continue;
        const std::string said = refused(words, code);
        EXPECT_EQ(said.find("generated"), said.npos) << words << "\n" << said;
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3) << "stdout, stderr and the folder";
}

TEST_F(Usage, HintsNameOptionsNotMembers)
{
    const std::string complex =
        file("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 2\n");
    expect_says("info " + complex, "--real-part", 3);
    EXPECT_EQ(tulle("info --real-part " + complex).code, 0);
    EXPECT_EQ(tulle("run spgemm identity:2 --real-part " + complex).code, 0) << "B is read with the same options";
    const std::string claims =
        file("claims.mtx", "%%MatrixMarket matrix coordinate real general\n100000000 10 1\n1 1 1\n");
    expect_says("info " + claims, "--trust-header", 3);
    expect_says("info --trust-header --budget 1MiB " + claims, "raise --budget", 4);
    expect_says("run sptrsv " +
                    file("singular.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 1 1\n"),
                "--unit-diagonal");
    expect_says("convert stencil5:4 a.smtx", "--pattern");
    if (!why_no_cuda().empty()) expect_says("run spmv stencil5:4 --backend cuda", "--backend cpu", 5);
}

// see(file, text) for every string in the sources below some folders; not what compilers say, nor the simulator's own
// words and assembler.
template <class See>
void for_each_text(const std::vector<const char*>& folders, See&& see)
{
    const std::regex literal("\"((?:[^\"\\\\]|\\\\.)*)\"");
    const auto in_lines = [&](const std::filesystem::path& file) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) {
            if (line.find("static_assert") != line.npos) continue;
            const std::string code = line.substr(0, line.find("//"));
            for (std::sregex_iterator at(code.begin(), code.end(), literal), end; at != end; ++at)
                if (const std::string text = (*at)[1]; !text.starts_with("tulle: ")) see(file, text);
        }
    };
    for (const char* folder : folders)
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(std::filesystem::path(TULLE_SOURCE) / folder)) {
            const std::string kind = entry.path().extension().string();
            const bool simulator = entry.path().string().find("simt") != std::string::npos;
            if (!simulator && (kind == ".cpp" || kind == ".hpp" || kind == ".cu")) in_lines(entry.path());
        }
}

// Every text of the library that speaks of C++ (members, calls, types with arguments, options that are set), found in
// its sources, has a translation.
TEST(Hints, NoTextOfTheLibraryReachesAUserInCpp)
{
    const std::regex cpp("[A-Za-z]::[A-Za-z]|(^|[^.\\w])\\w+\\(\\)|[A-Z]\\w+<\\w+>|\\bset [a-z]+_[a-z]");
    int found = 0;
    for_each_text({"src", "include"}, [&](const std::filesystem::path& file, const std::string& text) {
        if (!std::regex_search(text, cpp)) return;
        ++found;
        EXPECT_TRUE(cli::has_translation(text)) << file << ": " << text;
        EXPECT_FALSE(std::regex_search(cli::cli_hint(text), cpp)) << cli::cli_hint(text);
    });
    EXPECT_GT(found, 15) << "the sources are not where they should be";
}

// Whatever option a text of the program or a translated hint names, some verb has it.
TEST_F(Usage, TextsNameOptionsThatExist)
{
    const std::string known = tulle("completion bash").out;
    const std::regex option("(^|[^\\w-])(--[a-z][a-z-]*[a-z])");
    int found = 0;
    for_each_text({"apps/cli", "src"}, [&](const std::filesystem::path& file, const std::string& text) {
        for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) {
            ++found;
            const std::string name = (*at)[2];
            EXPECT_TRUE(std::regex_search(known, std::regex(name + "[ ']"))) << file << ": " << text;
        }
    });
    EXPECT_GT(found, 100) << "the sources are not where they should be";
}

// nan is no number in any range, and what does not fit a type is told in words.
TEST_F(Usage, NumbersThatAreNone)
{
    for (const char* words : {"solve stencil5:4 --tolerance nan", "solve stencil5:4 --max-seconds nan",
                              "partition stencil5:4 --latency nan", "partition stencil5:4 --link inf",
                              "rank stencil5:4 --damping nan", "plan spmv stencil5:4 --tolerance nan",
                              "run spmm stencil5:4 --kernel tiles --delta nan", "solve stencil5:4 --max-seconds inf"})
        expect_says(words, "must be a number");
    expect_says("solve stencil5:4 --unknowns-per-node 99999999999",
                "--unknowns-per-node: '99999999999' is not a number");
    expect_says("run spmv stencil5:10 --seed 1.5",
                "--seed: must be a whole number from 0 to 18446744073709551615, not '1.5'");
    expect_says("paths " + file("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n"),
                "the graph has none");
    EXPECT_EQ(tulle("explain solve none.mtx").out.find("inf"), std::string::npos);
}

// A picture on stdout is alone there.
TEST_F(Usage, PicturesOnStdoutAreAloneThere)
{
    if (!json("doctor")["build"]["pictures"]) GTEST_SKIP() << "built without Cairo";
    for (const char* words : {"partition stencil5:4 -n 2 --plot -", "solve stencil5:4 --plot -"}) {
        const Outcome run = tulle(words);
        EXPECT_EQ(run.code, 0) << run.err;
        EXPECT_TRUE(run.out.starts_with("<?xml")) << words;
        EXPECT_TRUE(run.out.ends_with("</svg>\n")) << words << "\n" << run.out.substr(run.out.size() / 2);
    }
}

TEST_F(Usage, HintsOfSolversNameOptions)
{
    const std::string without =
        file("without.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n");
    expect_says("solve " + without + " --preconditioner ilu0 --method gmres", "+match");
    EXPECT_EQ(tulle("solve " + without + " --preconditioner ilu0+match --method gmres").code, 0);
    expect_says("solve stencil5:3 --preconditioner amg --unknowns-per-node 2", "--unknowns-per-node");
    expect_says("solve stencil5:3 --method refinement --type f32", "--type f64");
}

TEST(Hints, OthersStay)
{
    EXPECT_EQ(cli::cli_hint("one of rows, split"), "one of rows, split");
    EXPECT_EQ(cli::cli_hint("raise the budget to at least 7.0 KiB"), "raise --budget to at least 7.0 KiB");
    EXPECT_EQ(cli::cli_hint("call Unknown::member"), "");
}

TEST_F(Usage, WhatElseWasPossibleIsForVerbose)
{
    for (const char* words :
         {"run spmv stencil5:4", "run spmm stencil5:4", "run spgemm stencil5:4", "plan spgemm stencil5:4"}) {
        EXPECT_EQ(tulle(words).out.find("also possible"), std::string::npos) << words;
        EXPECT_NE(tulle(std::string(words) + " --verbose").out.find("also possible"), std::string::npos) << words;
    }
}

// Completions know every verb and every option, and the shell that is here accepts them.
TEST_F(Usage, CompletionsKnowEveryVerb)
{
    for (const std::string shell : {"bash", "zsh", "fish"}) {
        const Outcome run = tulle("completion " + shell);
        EXPECT_EQ(run.code, 0) << run.err;
        for (const char* word : {"validate", "sptrsv", "trust-header", "csr csc coo bell"})
            EXPECT_NE(run.out.find(word), std::string::npos) << shell << " " << word;
        file("completion." + shell, run.out);
        const std::string check = shell == "fish" ? "fish --no-execute" : shell + " -n";
        const std::string line = "command -v " + shell + " >/dev/null || exit 77; cd '" + folder.string() + "' && " +
                                 check + " completion." + shell;
        const int status = std::system(line.c_str());
        EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77) << shell;
    }
    const std::string help = tulle("--help").out;
    for (const char* verb : {"\n  completion ", "\n  manual "})
        EXPECT_NE(help.find(verb, help.find("For packages:")), std::string::npos) << help;
}

TEST_F(Usage, BashCompletes)
{
    file("completion.bash", tulle("completion bash").out);
    const auto completed = [&](const std::string& words, int at) {
        const std::string line = "cd '" + folder.string() + "' && bash -c 'source ./completion.bash; COMP_WORDS=(" +
                                 words + "); COMP_CWORD=" + std::to_string(at) +
                                 "; _tulle; echo \"${COMPREPLY[*]}\"' >reply 2>&1";
        EXPECT_EQ(std::system(line.c_str()), 0);
        return text_of(folder / "reply");
    };
    if (std::system("command -v bash >/dev/null") != 0) GTEST_SKIP() << "no bash here";
    EXPECT_EQ(completed("tulle val", 1), "validate\n");
    EXPECT_EQ(completed("tulle run \"\"", 2), "spmv sptrsv spgemm spmm sddmm\n");
    EXPECT_EQ(completed("tulle run spmv A.mtx --ver", 4), "--verify --verbose\n");
    EXPECT_EQ(completed("tulle run spmv A.mtx --format c", 5), "csr csc coo\n");
    EXPECT_EQ(completed("tulle run spmv A.mtx --out \"\"", 5), "\n") << "files are bash's own";
}

TEST_F(Usage, TheManualHasEveryVerb)
{
    const std::string page = tulle("manual").out;
    for (const char* part : {".TH TULLE 1", ".SH NAME", ".SH SYNOPSIS", ".SH EXIT STATUS", "tulle run spmv",
                             "tulle tune sptrsv", "\\-\\-trust\\-header", "tulle doctor"})
        EXPECT_NE(page.find(part), page.npos) << part;
    file("tulle.1", page);
    const std::string line = "command -v groff >/dev/null || exit 77; cd '" + folder.string() +
                             "' && groff -man -Kutf8 -Tutf8 -ww tulle.1 >page 2>faults && test ! -s faults";
    const int status = std::system(line.c_str());
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77) << text_of(folder / "faults");
}

}  // namespace
}  // namespace tulle::test
