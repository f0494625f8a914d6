// The tree keeps the laws on the form of files, and the laws find each planted offence.
#include "tests/laws/form_laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::laws {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<SourceFile> theTree() {
    return readTree(MILLRACE_SOURCE_DIR);
}

std::string function(const std::string& head, int lines) {
    return head + " {" + std::string(static_cast<std::size_t>(lines - 1), '\n') + "}\n";
}

std::vector<std::string> namesIn(const std::string& text) {
    std::vector<std::string> names;
    for (const FunctionPlace& place : functionsOf({"a.cpp", text})) {
        names.push_back(place.name);
    }
    return names;
}

std::vector<SourceFile> room(const std::string& folder, int sources) {
    std::vector<SourceFile> files = {{folder + "/only.h", "// What it is.\n"}};
    for (int i = 0; i < sources; ++i) {
        files.push_back({folder + "/f" + std::to_string(i) + ".cpp", ""});
    }
    return files;
}

// A class in a header of two lines, and sources with these numbers of lines.
std::vector<SourceFile> classIn(const std::vector<int>& lines) {
    std::vector<SourceFile> files = {{"backend/core/a.h", "class A : public B {\n};\n"}};
    for (const int each : lines) {
        files.push_back({"backend/core/a" + std::to_string(files.size()) + ".cpp",
                         function("int A::f" + std::to_string(files.size()) + "()", each)});
    }
    return files;
}

TEST(FormLaws, FilesStayWithinTheirSize) {
    const auto offences = checkSizes(theTree());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, FunctionsStayWithinTheirSize) {
    const auto offences = checkFunctions(theTree(), longFunctions());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, RoomsStayWithinTheirSize) {
    const auto offences = checkRoomSizes(theTree(), fullRooms());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, ClassesStayWithinTheirSize) {
    const auto offences = checkClasses(theTree(), largeClasses());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, HeadersSayWhatTheyAre) {
    const auto offences = checkOpenings(theTree());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, NoFileHasABanner) {
    const auto offences = checkBanners(theTree());
    EXPECT_TRUE(offences.empty()) << describe(offences);
}

TEST(FormLaws, AFileThatGrewTooLongIsSeen) {
    EXPECT_EQ(checkSizes({{"backend/core/a.cpp", std::string(601, '\n')}}).size(), 1U);
    EXPECT_TRUE(checkSizes({{"backend/core/a.cpp", std::string(600, '\n')}}).empty());
    EXPECT_EQ(checkSizes({{"backend/core/a.h", std::string(251, '\n')}}).size(), 1U);
}

TEST(FormLaws, AFunctionOf500LinesIsSeen) {
    EXPECT_EQ(checkFunctions({{"backend/a.cpp", function("void f()", 500)}}, {}).size(), 1U);
    EXPECT_EQ(checkFunctions({{"tests/a.cpp", function("TEST(A, B)", 71)}}, {}).size(), 1U);
    EXPECT_TRUE(checkFunctions({{"backend/a.cpp", function("void f()", 70)}}, {}).empty());
}

TEST(FormLaws, AListedTableMayNotGrowAndItsFigureFallsWithIt) {
    const auto said = [](int lines) {
        return describe(
            checkFunctions({{"a.cpp", function("Table rows()", lines)}}, {{"a.cpp", "rows", 100}}));
    };
    EXPECT_EQ(said(100), "");
    EXPECT_THAT(said(101), HasSubstr("figures in longFunctions() only fall"));
    EXPECT_THAT(said(90), HasSubstr("put into longFunctions() {\"a.cpp\", \"rows\", 90},"));
    EXPECT_THAT(said(70), HasSubstr("take its line out of longFunctions()"));
    EXPECT_THAT(describe(checkFunctions({}, {{"a.cpp", "rows", 100}})), HasSubstr("is no more"));
}

TEST(FormLaws, ARoomOf80FilesIsSeen) {
    EXPECT_EQ(checkRoomSizes(room("backend/core", 80), {}).size(), 1U);
    EXPECT_EQ(checkRoomSizes(room("tests/unit/core", 19), {}).size(), 1U);
    EXPECT_TRUE(checkRoomSizes(room("backend/core", 18), {}).empty());
}

TEST(FormLaws, AListedRoomMayNotGrowAndItsFigureFallsWithIt) {
    const std::vector<Debt> listed = {{"backend/core", "", 25}};
    EXPECT_TRUE(checkRoomSizes(room("backend/core", 25), listed).empty());
    EXPECT_EQ(checkRoomSizes(room("backend/core", 26), listed).size(), 1U);
    EXPECT_THAT(describe(checkRoomSizes(room("backend/core", 24), listed)),
                HasSubstr("put into fullRooms() {\"backend/core\", \"\", 24},"));
}

TEST(FormLaws, AClassThatIsCutOverFilesIsSeen) {
    EXPECT_THAT(describe(checkClasses(classIn({300, 300}), {})),
                HasSubstr("A has 602 lines in all its files"));
    EXPECT_THAT(checkClasses(classIn({298, 300}), {}), IsEmpty());
    EXPECT_THAT(checkClasses(classIn({600}), {}), IsEmpty()) << "the law on file sizes bounds it";
}

TEST(FormLaws, AHeaderWithoutAnOpeningIsSeen) {
    const auto offences = [](const std::string& text) {
        return checkOpenings({{"backend/core/a.h", text}}).size();
    };
    EXPECT_EQ(offences("#pragma once\n#include <string>\n\n// Too late to say it.\n"), 1U);
    EXPECT_EQ(offences("#pragma once\n// ...\nint x;\n"), 1U);
    EXPECT_EQ(offences("#pragma once\n// What the header is for.\nint x;\n"), 0U);
    EXPECT_EQ(offences("#ifndef A\n#define A\n/* What the header is\n * for. */\n"), 0U);
}

TEST(FormLaws, ABannerIsSeen) {
    const auto offences = [](const std::string& path, const std::string& line) {
        return checkBanners({{path, line + "\n"}}).size();
    };
    const std::string dashes(3, '-');
    EXPECT_EQ(offences("backend/core/a.cpp", "// " + dashes), 1U);
    EXPECT_EQ(offences("backend/core/a.cpp", "    // " + dashes + " columns " + dashes), 1U);
    EXPECT_EQ(offences("backend/core/a.cpp", "//" + std::string(70, '=')), 1U);
    EXPECT_EQ(offences("backend/core/a.cpp", "/" + std::string(40, '*')), 1U);
    EXPECT_EQ(offences("tests/a.py", "# " + dashes + " reading " + dashes), 1U);
    EXPECT_EQ(offences("backend/core/a.cpp", "/// a / b, --flag, a == b"), 0U);
    EXPECT_EQ(offences("backend/core/a.cpp", "// -- not one"), 0U);
}

TEST(FunctionScan, FindsFunctionsOfEveryForm) {
    EXPECT_THAT(namesIn("int f(int x = 3) { return x; }\n"), ElementsAre("f"));
    EXPECT_THAT(namesIn("namespace a {\nstruct B : C<int> {\n    int g() const { return 1; }\n"
                        "    int h_ = 2;\n};\n}\nvoid a::B::k() {}\n"),
                ElementsAre("g", "a::B::k"));
    EXPECT_THAT(namesIn("A::A(int b) : b_{b}, c_(b) { run({1, 2}); }\n"), ElementsAre("A::A"));
    EXPECT_THAT(namesIn("TEST_F(A, Does) {\n    if (x) {\n    }\n}\n"),
                ElementsAre("TEST_F(A, Does)"));
    EXPECT_THAT(namesIn("bool operator==(const A& a, const A& b) { return true; }\n"),
                ElementsAre("operator=="));
    EXPECT_THAT(namesIn("template <class T = int>\nstd::vector<T> f() { return {}; }\n"),
                ElementsAre("f"));
    EXPECT_THAT(namesIn("auto f() -> std::string { return {}; }\n"), ElementsAre("f"));
}

TEST(FunctionScan, TakesTablesAndTextsForNone) {
    EXPECT_THAT(
        namesIn("const std::vector<A> kRows = {\n    {\"a(\", {1}},\n    {\"{\", {2}},\n};\n"),
        IsEmpty());
    EXPECT_THAT(namesIn("const auto f = [](int x) { return x; };\n"), IsEmpty());
    EXPECT_THAT(namesIn("enum class A : int { kOne = f(1), kTwo };\n"), IsEmpty());
    EXPECT_THAT(namesIn("#define M(x) void x() { \\\n    g(); }\n// void h() {\n"), IsEmpty());
    EXPECT_THAT(namesIn("const char* k = R\"(void f() {)\";\nchar c = '{';\nint n = 1'000;\n"
                        "void g() {}\n"),
                ElementsAre("g"));
}

TEST(FunctionScan, CountsFromTheDeclarationToTheBrace) {
    const auto places = functionsOf({"a.cpp", "// Why.\n\nint f(int a,\n      int b) {\n}\n"});
    ASSERT_EQ(places.size(), 1U);
    EXPECT_EQ(places[0].line, 3);
    EXPECT_EQ(places[0].lines, 3);
}

}  // namespace
}  // namespace millrace::laws
