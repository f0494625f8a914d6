#pragma once
// The initial spec of "New". A test checks it with the reader.
#include <QString>

namespace millrace::gui {

QString specTemplate();

}  // namespace millrace::gui
