"""The endpoint of a running job, with hostile readers, and over TLS. Arguments: weirrun, byte-lm, and
perhaps weir-monitor."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from job import Job

MONITOR = sys.argv[3:4]


def get(url, token="", context=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20,
                                context=context) as reply:
        return reply.read().decode()


def steps(text):
    return int(re.search(r"^weir_step_duration_seconds_count (\d+)$", text, re.M).group(1))


class HostileReaders(unittest.TestCase):
    def setUp(self):
        self.job = Job(self, 1)
        self.job.until(lambda: steps(get(self.job.url + "/metrics")) > 0)

    def connect(self, text=b"", receive_bytes=None):
        reader = socket.socket()
        self.addCleanup(reader.close)
        if receive_bytes:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        reader.connect(("127.0.0.1", self.job.port))
        reader.send(text)

    def test_the_job_takes_its_steps_and_scrapes_are_answered_beside_all_of_them(self):
        for _ in range(500):
            self.connect()
        for _ in range(60):
            self.connect(b"GET /metrics HTTP/1.1\r\nHost")
        for _ in range(60):
            self.connect(b"GET /log HTTP/1.1\r\n\r\n", receive_bytes=2048)
        before = steps(get(self.job.url + "/metrics"))
        for _ in range(60):
            self.connect(b"GET /" + b"x" * 100000)
        self.job.until(lambda: steps(get(self.job.url + "/metrics")) >= before + 5)

    def test_it_holds_as_few_descriptors_as_it_says(self):
        for _ in range(500):
            self.connect()
        open_ = float(re.search(r"^process_open_fds (\d+)$", get(self.job.url + "/metrics"), re.M).group(1))
        self.assertLess(open_, 128 + 100)


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate with")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.certificate, key = (str(cls.folder / name) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-out", cls.certificate, "-keyout", key],
                       check=True, capture_output=True)
        job = Job(cls, 2, "secret", {"WEIR_METRICS_CERTIFICATE": cls.certificate, "WEIR_METRICS_KEY": key})
        cls.url = job.url.replace("http:", "https:")
        cls.trusting = ssl.create_default_context(cafile=cls.certificate)
        job.until(lambda: steps(get(cls.url + "/metrics", "secret", cls.trusting)) > 10)

    def run_with(self, *command, trusted=None):
        environment = {**os.environ, "WEIR_METRICS_TOKEN": "secret", "QT_QPA_PLATFORM": "offscreen",
                       "SSL_CERT_FILE": str(trusted or self.certificate)}
        return subprocess.run(command, text=True, capture_output=True, check=False, timeout=600,
                              env=environment)

    def test_who_trusts_the_certificate_reads_what_is_served(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(self.url + "/metrics", "guess", self.trusting)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        with self.assertRaises(urllib.error.URLError):
            get(self.url + "/metrics", "secret")  # Nobody has told it to trust the certificate.
        self.assertIn('"__scheme__": "https"', get(self.url + "/targets", "secret", self.trusting))

    def test_weir_top_watches(self):
        done = self.run_with(sys.executable, "-m", "weir.top", "--once", self.url)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count(" live"), 2, done.stdout)

    @unittest.skipUnless(MONITOR, "the dashboard is not built")
    def test_the_dashboard_watches(self):
        picture = self.folder / "ranks.png"
        done = self.run_with(*MONITOR, "--page", "ranks", "--screenshot", str(picture), self.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(picture.stat().st_size, 1000)

    @unittest.skipUnless(MONITOR, "the dashboard is not built")
    def test_a_picture_of_two_runs_needs_both(self):
        picture = self.folder / "two.png"
        pairs = ((self.url, "http://127.0.0.1:1"), ("http://127.0.0.1:1", self.url))
        with concurrent.futures.ThreadPoolExecutor() as pool:  # Each gives up after half a minute.
            every = list(pool.map(lambda runs: self.run_with(*MONITOR, "--screenshot", str(picture), *runs), pairs))
        for done in every:
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, "too little to show: .*http://127.0.0.1:1 does not answer")
            self.assertFalse(picture.exists())

    @unittest.skipUnless(MONITOR, "the dashboard is not built")
    def test_the_dashboard_says_that_it_needs_a_display_for_a_window_alone(self):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
        for argument, code, said in ((self.url, 2, "weir-top"), ("--help", 0, ""), ("--version", 0, "")):
            done = subprocess.run([*MONITOR, argument], text=True, capture_output=True, check=False, timeout=600,
                                  env=environment)
            self.assertEqual(done.returncode, code, done)
            self.assertIn(said, done.stderr)
            self.assertNotIn("qt.qpa", done.stderr)

    @unittest.skipUnless(MONITOR, "the dashboard is not built")
    def test_the_dashboard_says_of_a_file_that_it_has_no_certificate(self):
        none = self.folder / "none.pem"
        for text, why in ((None, "No such file"), ("nothing", "no certificate")):
            if text is not None:
                none.write_text(text)
            done = self.run_with(*MONITOR, "--screenshot", str(self.folder / "no.png"), self.url, trusted=none)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, f"SSL_CERT_FILE={none}: .*{why}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
