#pragma once
// Specs for tests of the console's spec models.
#include <QFile>
#include <QString>

namespace millrace::gui {

inline QString movielens() {
    QFile file(QStringLiteral(MILLRACE_SOURCE_DIR "/resources/examples/movielens/movielens.yaml"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace millrace::gui
