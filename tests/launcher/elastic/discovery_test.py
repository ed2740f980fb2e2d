"""The script that names the hosts of an elastic job, in jobs of programs without an engine. Argument: weirrun."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest


class Discovery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script = self.folder / "hosts.sh"

    def command(self, text, *options, program=("true",)):
        self.script.write_text(f"#!/bin/sh\n{text}\n")
        self.script.chmod(0o755)
        return [WEIRRUN, *options, "--host-discovery-script", str(self.script), *program]

    def run_job(self, *arguments, **keywords):
        """Returns the exit code and what weirrun has said."""
        done = subprocess.run(self.command(*arguments, **keywords), stderr=subprocess.PIPE, text=True, check=False,
                              timeout=60)
        return done.returncode, done.stderr

    def test_all_that_are_there_are_started(self):
        self.assertEqual(self.run_job("echo localhost:2 '# both'", "-np", "2"), (0, ""))

    def test_fewer_than_asked_for_are_told(self):
        self.assertEqual(self.run_job("echo localhost", "-np", "3", "--min-np", "1"), (
            0, "weirrun: --host-discovery-script has found 1 of 3 slots: starting 1 rank\n"))

    def test_a_wait_for_hosts_is_told(self):
        code, said = self.run_job("echo", "-np", "2", "--min-np", "2", "--elastic-timeout", "1.5")
        self.assertEqual(code, 2)
        self.assertEqual(said.splitlines(), [
            "weirrun: 0 of 2 slots: waiting up to 1.5 s (--elastic-timeout) for hosts",
            "weirrun: --host-discovery-script has found 0 slots, and --min-np asks for 2, within the elastic timeout "
            "of 1.5 s"])

    def test_a_run_that_takes_too_long_is_ended_and_blamed(self):
        for text in "sleep 100", "exec >&-; sleep 100":
            for option in "--start-timeout", "--elastic-timeout":
                with self.subTest(text=text, option=option):
                    code, said = self.run_job(text, "-np", "1", "--min-np", "1", option, "1")
                    self.assertEqual(code, 2)
                    self.assertRegex(said, rf"^weirrun: the host discovery script '.*/hosts.sh' took longer than "
                                           rf"\S+ s \({option}\), and weirrun ended it\n$")

    def test_too_much_output_is_not_kept(self):
        code, said = self.run_job("yes", "-np", "1")
        self.assertEqual(code, 2)
        self.assertIn("wrote more than 1 MiB, and weirrun ended it", said)

    def test_what_is_no_host_is_shown_without_control_characters(self):
        code, said = self.run_job(r"printf '\033[2J\377x\n'", "-np", "1")
        self.assertEqual(code, 2)
        self.assertEqual(said, f"weirrun: the host discovery script '{self.script}', line 1: '?[2J?x' is not a host; "
                               "give name:slots, as in a:2,b:2\n")

    def test_a_script_that_cannot_be_run_is_said_once(self):
        for script, why in [("/nosuch.sh", "No such file or directory"), (str(self.folder), "it is a folder"),
                            ("nosuch.sh", r"\$PATH has none; for one in this folder give ./nosuch.sh")]:
            with self.subTest(script=script):
                done = subprocess.run([WEIRRUN, "-np", "1", "--host-discovery-script", script, "true"],
                                      stderr=subprocess.PIPE, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, rf"^weirrun: cannot run the host discovery script '{script}': {why}\n$")

    def test_it_does_not_outlive_a_weirrun_that_is_killed(self):
        # At the end of a pipe that nobody writes to any more once all of its writers have ended.
        reader, writer = os.pipe()
        with subprocess.Popen(self.command("echo runs >&2; sleep 100; :", "-np", "1"), stderr=writer,
                              pass_fds=[writer]) as job:
            os.close(writer)
            self.assertEqual(os.read(reader, 100), b"runs\n")
            began = time.monotonic()
            job.kill()
            self.assertEqual(os.read(reader, 100), b"")
        self.assertLess(time.monotonic() - began, 50, "the script has slept to its end")
        os.close(reader)

    def test_hosts_of_this_machine_need_no_interface_but_lo(self):
        command = self.command("echo localhost:2", "-np", "2")
        try:
            done = subprocess.run(["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command],
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        except FileNotFoundError:
            self.skipTest("there is no unshare")
        if "Operation not permitted" in done.stderr:
            self.skipTest("a network of one's own takes root")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    WEIRRUN = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
