// What TLS needs from files: what is wrong with one is said with the remedy, and names that may
// come in.
#include "daemon/peers/tls_terms.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/config/name_list.h"
#include "tests/support/certificates.h"

namespace tentq::test {
namespace {

using std::chrono::hours;

class TlsFiles : public ::testing::Test {
 protected:
  PeerSettings settings(const CertificateFiles& files) {
    PeerSettings settings;
    settings.auth = PeerAuth::mtls;
    settings.tls_ca_file = authority_.file();
    settings.tls_certificate_file = files.certificate;
    settings.tls_key_file = files.key;
    return settings;
  }
  // What load() answers; empty: it loads.
  std::string fault_of(const PeerSettings& settings) {
    std::string why;
    return TlsTerms::load(settings, &why) ? std::string() : why;
  }
  void expect_fault(const PeerSettings& settings, std::initializer_list<const char*> parts) {
    const std::string fault = fault_of(settings);
    for (const char* part : parts) EXPECT_NE(fault.find(part), std::string::npos) << fault;
  }

  Authority authority_{"tentq tests"};
};

TEST_F(TlsFiles, AreLoaded) {
  EXPECT_EQ(fault_of(settings(authority_.issue("a"))), "");
}

TEST_F(TlsFiles, ThatAreMissingOrNoPemAreNamed) {
  const PeerSettings good = settings(authority_.issue("a"));
  for (const auto file : {&PeerSettings::tls_ca_file, &PeerSettings::tls_certificate_file,
                          &PeerSettings::tls_key_file}) {
    PeerSettings missing = good;
    missing.*file += ".no";
    expect_fault(missing, {(missing.*file).c_str(), "No such file"});
    PeerSettings garbage = good;
    std::ofstream(garbage.*file + ".bad") << "no PEM at all\n";
    ::chmod((garbage.*file + ".bad").c_str(), 0600);
    garbage.*file += ".bad";
    expect_fault(garbage, {(garbage.*file).c_str(), "PEM"});
  }
}

TEST_F(TlsFiles, OfAKeyThatOthersCanReadAreRefused) {
  const auto files = authority_.issue("a");
  ASSERT_EQ(::chmod(files.key.c_str(), 0640), 0);
  expect_fault(settings(files), {files.key.c_str(), "chmod 600"});
}

TEST_F(TlsFiles, WhoseKeyDoesNotFitAreRefused) {
  auto files = authority_.issue("a");
  files.key = authority_.issue("b").key;
  expect_fault(settings(files), {files.key.c_str(), "does not fit", files.certificate.c_str()});
}

TEST_F(TlsFiles, WithAnEncryptedKeyAreRefusedWithoutAQuestion) {
  const auto files = authority_.issue("a");
  std::FILE* file = std::fopen(files.key.c_str(), "r+");
  EVP_PKEY* key = PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
  std::rewind(file);
  unsigned char word[] = "secret";
  ASSERT_EQ(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), word, 6, nullptr, nullptr), 1);
  EVP_PKEY_free(key);
  std::fclose(file);
  expect_fault(settings(files), {files.key.c_str(), "not encrypted", "openssl pkey"});
}

TEST_F(TlsFiles, OfACertificateThatIsNotValidNowAreRefused) {
  expect_fault(settings(authority_.issue("old", {.begins = hours{-3}, .ends = hours{-1}})),
               {"has expired", "SIGHUP"});
  expect_fault(settings(authority_.issue("new", {.begins = hours{1}, .ends = hours{2}})),
               {"not valid yet", "clock"});
}

class Names : public TlsFiles {
 protected:
  bool lets_in(const std::string& allowed, const std::vector<std::string>& names,
               const std::string& common_name = "common") {
    const auto files = authority_.issue("n", {.names = names, .common_name = common_name});
    PeerSettings with = settings(files);
    with.allowed_names = allowed;
    std::string why;
    const auto terms = TlsTerms::load(with, &why);
    EXPECT_TRUE(terms) << why;
    return terms->lets_in(SSL_CTX_get0_certificate(terms->context()));
  }
};

TEST_F(Names, AreComparedWholeOrWithOneStarInFront) {
  EXPECT_TRUE(lets_in("", {"DNS:a.example"}));
  EXPECT_TRUE(lets_in("b.example, A.Example", {"DNS:a.example"}));
  EXPECT_TRUE(lets_in("*.example", {"DNS:a.example"}));
  EXPECT_FALSE(lets_in("*.example", {"DNS:b.a.example"}));
  EXPECT_FALSE(lets_in("*.example", {"DNS:example"}));
  EXPECT_FALSE(lets_in("a.example", {"DNS:aa.example"}));
  EXPECT_FALSE(lets_in("a.example", {"DNS:*.example"}));
  EXPECT_TRUE(lets_in("10.0.0.2, fd00::2", {"IP:fd00::2"}));
  EXPECT_FALSE(lets_in("10.0.0.2", {"IP:10.0.0.3"}));
  // The common name counts only where there is no other.
  EXPECT_TRUE(lets_in("common", {}));
  EXPECT_FALSE(lets_in("common", {"DNS:a.example"}));
}

TEST(NameList, IsNamesAndAddresses) {
  std::vector<std::string> names;
  EXPECT_TRUE(parse_name_list("", &names) && names.empty());
  EXPECT_TRUE(parse_name_list(" a.b ,*.c,::1 , 10.0.0.1", &names));
  EXPECT_EQ(names, (std::vector<std::string>{"a.b", "*.c", "::1", "10.0.0.1"}));
  for (const char* bad : {"a,", ",a", "*", "*.", "a.*", "a b", "a/b", "-a", ".a", "a;b"}) {
    EXPECT_FALSE(parse_name_list(bad, &names)) << bad;
  }
}

}  // namespace
}  // namespace tentq::test
