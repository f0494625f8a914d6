#pragma once
// Laws on the form of files: sizes of files, functions, rooms and classes, the opening of a header,
// no banners. A table has each present exception with its figure, which may only fall.
#include <vector>

#include "tests/laws/source_tree.h"

namespace millrace::laws {

/// A .cpp has at most 600 lines, a header 250.
std::vector<Offence> checkSizes(const std::vector<SourceFile>& files);

/// A function has at most 70 lines, except the listed tables of data.
const std::vector<Debt>& longFunctions();
std::vector<Offence> checkFunctions(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& tables);

/// A room holds at most 18 .cpp files (headers are not counted).
const std::vector<Debt>& fullRooms();
std::vector<Offence> checkRoomSizes(const std::vector<SourceFile>& files,
                                    const std::vector<Debt>& debts);

/// A class whose members are in several .cpp files has at most 600 lines in all of them and its
/// header: more files do not replace a division of duties. Each file counts with all its lines. The
/// law on file sizes bounds a class in one .cpp.
const std::vector<Debt>& largeClasses();
std::vector<Offence> checkClasses(const std::vector<SourceFile>& files,
                                  const std::vector<Debt>& debts);

/// A header says in words what it is, before its first line of code.
std::vector<Offence> checkOpenings(const std::vector<SourceFile>& files);

/// No banners: no comment that is a line of dashes or begins with one.
std::vector<Offence> checkBanners(const std::vector<SourceFile>& files);

}  // namespace millrace::laws
