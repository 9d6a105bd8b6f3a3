"""Programs on a pseudo-terminal, as a person meets them."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

PATIENCE_S = 60  # how long an answer may take to appear on a busy machine; nothing waits that long when all is well


class Terminal:
    """A program on a pseudo-terminal; what it writes to the terminal, stderr included, is collected."""

    def __init__(self, args, env, columns=0):
        self.master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        settings[3] |= termios.NOFLSH  # or Ctrl-C discards what was written and not read yet
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        if columns:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(args, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""
        self.read = 0  # characters of `seen` that were waited for already

    def more(self):
        """Reads what is there; False at the end."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux: the other end is closed
            return False
        self.seen += data.decode("latin-1")
        return bool(data)

    def wait_for(self, pattern):
        """The match of `pattern` in what came after the last match."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = re.compile(pattern, re.S).search(self.seen, self.read)
            if found:
                self.read = found.end()
                return found
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0] or not self.more():
                raise AssertionError(f"{pattern!r} does not come: {self.seen[self.read:][-500:]!r}")

    def wait_for_prompt(self):
        """The prompt appears a moment before the line editor takes the terminal over; keys in between are the kernel's."""
        self.wait_for(">>> ")
        end = time.monotonic() + PATIENCE_S
        while termios.tcgetattr(self.master)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise AssertionError("the prompt takes no keys")
            time.sleep(0.001)

    def type(self, keys):
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    def say(self, line):
        """The answer to a line: what stands between its echo and the line of --stats, and the numbers there."""
        self.type(line + "\r")
        self.wait_for(re.escape(line.encode().decode("latin-1")) + r"\r*\n")
        start = self.read
        stats = self.wait_for(r'device="[^\n]*stop=(\w+)\r\n')
        numbers = dict(re.findall(r"(\w+)=([\d.]+)", stats.group()))
        self.wait_for_prompt()
        return self.seen[start : stats.start()], {**numbers, "stop": stats.group(1)}

    def code(self):
        end = time.monotonic() + PATIENCE_S
        while select.select([self.master], [], [], max(0, end - time.monotonic()))[0] and self.more():
            pass
        return self.process.wait(timeout=PATIENCE_S)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
