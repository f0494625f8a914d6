#pragma once
// Laws over the form of files: sizes of files, functions, rooms and classes, how a header opens, no
// banners. What exceeds one of them today stands in a table with its figure, which may only fall.
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

/// A .cpp has at most 600 lines, a header 250.
std::vector<Offence> checkSizes(const std::vector<SourceFile>& files);

/// A function has at most 70 lines, but for the listed tables of data.
const std::vector<Debt>& longFunctions();
std::vector<Offence> checkFunctions(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& tables);

/// A room holds at most 20 .cpp files (headers are not counted).
const std::vector<Debt>& fullRooms();
std::vector<Offence> checkRoomSizes(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& debts);

/// A class whose members stand in several .cpp files has at most 600 lines in all of them and its
/// header: dividing files is no way around dividing duties. Each file counts whole. A class in one
/// .cpp is held by the size of that.
const std::vector<Debt>& largeClasses();
std::vector<Offence> checkClasses(const std::vector<SourceFile>& files,
                                  const std::vector<Debt>& debts);

/// A header says what it is, in words, before its first line of code.
std::vector<Offence> checkOpenings(const std::vector<SourceFile>& files);

/// No banners: no comment that is a line of dashes or begins with one.
std::vector<Offence> checkBanners(const std::vector<SourceFile>& files);

}  // namespace millrace::laws
