#include "monitor_gui/source/trust.h"

#include <QFile>
#include <QSslCertificate>
#include <QSslConfiguration>

namespace weir::monitor {

QString TrustAlso(const QString& path) {
  if (path.isEmpty()) return {};
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return path + ": " + file.errorString();
  const QList<QSslCertificate> certificates = QSslCertificate::fromDevice(&file);
  if (certificates.isEmpty()) return path + ": it contains no certificate in PEM";
  QSslConfiguration configuration = QSslConfiguration::defaultConfiguration();
  configuration.addCaCertificates(certificates);
  QSslConfiguration::setDefaultConfiguration(configuration);
  return {};
}

}  // namespace weir::monitor
