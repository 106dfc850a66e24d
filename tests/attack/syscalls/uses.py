"""What is done with packages besides importing them: what tools commonly do. Pieces are divided by `#---`."""

from __future__ import annotations

_STANDARD = """
import subprocess, sys
assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout == '1\\n'
p = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
assert p.communicate(b'x')[0] == b'x'
assert subprocess.run('echo a | tr a b; sleep 0.01; true', shell=True, capture_output=True).stdout == b'b\\n'
import os, signal
os.popen('ls /').read(); os.system('true'); pid = os.posix_spawn('/bin/true', ['true'], {}); os.waitpid(pid, 0)
#---
import threading, queue, time
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: assert sum(pool.map(lambda n: n, range(50))) == 1225
q = queue.Queue(); t = threading.Timer(0.01, q.put, (1,)); t.start(); q.get(timeout=5)
e = threading.Event(); e.wait(0.01); c = threading.Condition()
with c: c.wait(0.01)
threading.stack_size(1 << 20); th = threading.Thread(target=time.sleep, args=(0.01,), name='x'); th.start(); th.join()
#---
import multiprocessing as mp, os
def work(line, n): line.send(n * 2); line.close()
if __name__ == '__main__':
    for way in ('fork',):
        ctx = mp.get_context(way); a, b = ctx.Pipe(); p = ctx.Process(target=work, args=(b, 21)); p.start(); assert a.recv() == 42; p.join(); assert p.exitcode == 0
        p = ctx.Process(target=__import__('time').sleep, args=(60,)); p.start(); p.terminate(); p.join(); p.close()
#---
import asyncio, sys, socket
async def main():
    server = await asyncio.start_server(lambda r, w: (w.write(b'x'), w.close()), '127.0.0.1', 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname()); assert await r.read() == b'x'; w.close(); server.close()
    p = await asyncio.create_subprocess_exec('echo', 'a', stdout=asyncio.subprocess.PIPE); assert (await p.communicate())[0] == b'a\\n'
    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(20))); await asyncio.to_thread(sum, [1, 2])
    loop = asyncio.get_running_loop(); loop.add_signal_handler(10, lambda: None); __import__('os').kill(__import__('os').getpid(), 10); await asyncio.sleep(0.01)
    try: await asyncio.wait_for(asyncio.sleep(5), 0.01)
    except TimeoutError: pass
    server = await asyncio.start_unix_server(lambda r, w: w.close(), '/tmp/s'); server.close()
    t, p = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=('127.0.0.1', 0)); t.close()
asyncio.run(main())
#---
import socket, select, ssl, struct
a, b = socket.socketpair(); a.sendmsg([b'x'], []); b.recvmsg(9); a.setblocking(False); a.shutdown(socket.SHUT_RDWR)
for f in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(f); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    try: s.bind(('127.0.0.1' if f == 2 else '::1', 0)); s.listen(); c = socket.create_connection(s.getsockname()[:2]); d, _ = s.accept(); c.sendall(b'x'); d.recv_into(bytearray(9)); d.getpeername(); c.close()
    except OSError: pass
    u = socket.socket(f, socket.SOCK_DGRAM); u.close()
try: socket.getaddrinfo('example.org', 80)
except OSError: pass
socket.getaddrinfo('127.0.0.1', 80); socket.gethostname(); socket.if_nameindex(); ssl.create_default_context()
e = select.epoll(); e.register(b, select.EPOLLIN); e.poll(0); p = select.poll(); p.register(b, 1); p.poll(0); select.select([b], [], [], 0)
#---
import http.server, threading, urllib.request
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever, daemon=True).start()
urllib.request.urlopen('http://127.0.0.1:%d/' % s.server_address[1]).read(); s.shutdown()
#---
import os, tempfile, shutil, pathlib, mmap, fcntl, stat, time, glob
with tempfile.TemporaryDirectory() as d:
    p = pathlib.Path(d); f = p / 'a'; f.write_text('x' * 10000); f.chmod(0o600); f.rename(p / 'b'); os.replace(p / 'b', p / 'a'); os.link(f, p / 'c'); os.symlink(f, p / 'l'); os.readlink(p / 'l')
    os.truncate(f, 100); os.utime(f, (1, 1)); os.access(f, 4); shutil.copy2(f, p / 'd'); shutil.copytree(d, d + 'x'); shutil.rmtree(d + 'x'); list(p.rglob('*')); os.scandir(d).close(); shutil.disk_usage(d); os.statvfs(d)
    fd = os.open(f, os.O_RDWR); fcntl.flock(fd, fcntl.LOCK_EX); fcntl.lockf(fd, fcntl.LOCK_EX); os.fsync(fd); os.fdatasync(fd); os.pread(fd, 5, 0); os.pwrite(fd, b'x', 0); os.preadv(fd, [bytearray(3)], 0); os.pwritev(fd, [b'x'], 0)
    os.lseek(fd, 0, 0); os.posix_fallocate(fd, 0, 4096); os.posix_fadvise(fd, 0, 0, 2); m = mmap.mmap(fd, 100); m[:3] = b'abc'; m.flush(); m.madvise(mmap.MADV_DONTNEED); m.close(); os.fchmod(fd, 0o600); os.ftruncate(fd, 10); os.set_inheritable(fd, True); os.dup(fd); os.dup2(fd, 77); os.close(fd)
    g = os.open(d, os.O_DIRECTORY); os.mkdir('q', dir_fd=g); os.rmdir('q', dir_fd=g); os.stat('a', dir_fd=g); os.listdir(g); os.mkfifo(p / 'fifo'); os.copy_file_range(os.open(f, 0), os.open(p / 'e', 66), 5)
    os.listxattr(f)
    try: os.setxattr(f, 'user.x', b'y'); os.getxattr(f, 'user.x'); os.removexattr(f, 'user.x')
    except OSError: pass
    os.chdir(d); os.getcwd(); os.umask(0o22); os.chdir('/')
tempfile.NamedTemporaryFile().close(); tempfile.TemporaryFile().close(); tempfile.SpooledTemporaryFile(10).write(b'x' * 100)
#---
import os, signal, time, resource, sys, platform, pwd, grp, locale, uuid, random, secrets, getpass, gc, ctypes, sysconfig, faulthandler, atexit, select
signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05); signal.alarm(1); signal.alarm(0); signal.pthread_sigmask(signal.SIG_BLOCK, [10]); signal.sigpending(); signal.sigtimedwait([10], 0); signal.getitimer(0)
signal.set_wakeup_fd(-1); signal.siginterrupt(10, True); signal.pthread_kill(__import__('threading').get_ident(), 0); os.kill(os.getpid(), 0)
resource.getrusage(0); resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (100, 256)); resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.getloadavg(); os.cpu_count(); os.sched_getaffinity(0); os.sched_yield(); os.nice(1); os.getpriority(0, 0)
time.clock_gettime(time.CLOCK_MONOTONIC); time.get_clock_info('monotonic'); time.process_time(); time.thread_time(); os.times(); os.urandom(8); uuid.uuid1(); uuid.uuid4(); platform.platform(); platform.uname(); os.getgroups(); os.getresuid(); os.getpgid(0); os.getsid(0); os.getppid()
try: pwd.getpwuid(os.getuid())
except KeyError: pass
faulthandler.enable(); faulthandler.dump_traceback_later(5); faulthandler.cancel_dump_traceback_later(); os.eventfd(0); os.getrandom(4); os.pipe2(0)
r, w = os.pipe(); os.set_blocking(r, False); os.writev(w, [b'a', b'b']); os.readv(r, [bytearray(2)]); os.isatty(r); os.fstat(r)
if os.fork() == 0: os._exit(0)
os.wait(); pid = os.fork()
if pid == 0: os.execv('/bin/true', ['true'])
os.waitid(os.P_PID, pid, os.WEXITED)
#---
import sqlite3, zipfile, tarfile, gzip, bz2, lzma, zlib, shelve, dbm, json, csv, io, logging.handlers, configparser, hashlib, hmac, decimal, statistics, pickle, html.parser, xml.etree.ElementTree, email, curses, readline, cProfile, tracemalloc, unittest, doctest
c = sqlite3.connect('/tmp/x.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.executemany('insert into t values (?)', [(n,) for n in range(1000)]); c.commit(); c.execute('select sum(a) from t').fetchall(); c.close()
with zipfile.ZipFile('/tmp/x.zip', 'w', 8) as z: z.writestr('a', 'x' * 9999)
with tarfile.open('/tmp/x.tgz', 'w:gz') as t: t.add('/etc/passwd')
tarfile.open('/tmp/x.tgz').extractall('/tmp/out') ; lzma.compress(b'x' * 9999); hashlib.pbkdf2_hmac('sha256', b'x', b'y', 1000); hashlib.scrypt(b'x', salt=b'y', n=16, r=8, p=1)
tracemalloc.start(); cProfile.run('sum(range(99))')
"""
_PLOT = "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot as p\np.plot([1, 2]); p.savefig('/tmp/a.png'); p.savefig('/tmp/a.pdf'); p.savefig('/tmp/a.svg')"
_LEARN = (
    "from sklearn.ensemble import RandomForestClassifier as F\nfrom sklearn.cluster import KMeans\nimport numpy as n\nx = n.random.rand(200, 4); y = x[:, 0] > 0.5\n"
    "F(20, n_jobs=2).fit(x, y).predict(x); KMeans(3, n_init=2).fit(x)\nfrom joblib import Parallel, delayed\nParallel(2, prefer='threads')(delayed(abs)(n) for n in range(9))"
)
USES: dict[str, str] = {
    "the standard library": _STANDARD,
    "numpy": "import numpy as n\na = n.random.rand(600, 600); (a @ a).sum(); n.linalg.svd(a[:100, :100]); n.fft.fft(a); n.save('/tmp/a.npy', a); n.load('/tmp/a.npy', mmap_mode='r').sum(); n.memmap('/tmp/m', 'f8', 'w+', shape=(99,))[:] = 1",
    "pandas": "import pandas as p, io\nd = p.DataFrame({'a': range(9999), 'b': list('xyz') * 3333}); d.groupby('b').a.sum(); d.to_csv('/tmp/a.csv'); p.read_csv('/tmp/a.csv').describe(); d.to_json('/tmp/a.json'); d.to_pickle('/tmp/a.pkl'); d.merge(d.head(9), on='a'); p.to_datetime(['2024-01-02'])",
    "pillow": "from PIL import Image, ImageDraw, ImageFilter\ni = Image.new('RGB', (500, 500)); ImageDraw.Draw(i).line((0, 0, 99, 99)); i = i.resize((100, 100)).filter(ImageFilter.BLUR).rotate(9)\nfor k in ('png', 'jpeg', 'gif', 'webp', 'tiff', 'bmp', 'pdf'): i.save('/tmp/a.' + k)\nImage.open('/tmp/a.png').load()",
    "lxml": "from lxml import etree, html\nt = etree.fromstring('<a><b c=\"1\">x</b></a>'); t.xpath('//b/@c'); etree.XSLT(etree.XML('<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\"/>'))(t); html.fromstring('<p>x').text_content(); etree.ElementTree(t).write('/tmp/a.xml'); etree.parse('/tmp/a.xml')",
    "scipy": "import numpy as n, scipy.optimize as o, scipy.sparse as s, scipy.stats as t, scipy.signal as g, scipy.linalg as l, scipy.integrate as i\no.minimize(lambda x: (x ** 2).sum(), n.ones(5)); l.eigh(n.eye(50)); t.norm.fit(n.random.rand(99)); i.quad(abs, 0, 1); s.eye(50) @ n.ones(50); g.butter(3, 0.1)",
    "scikit-learn": _LEARN, "matplotlib": _PLOT, "seaborn": "import seaborn as s, pandas as p\ns.lineplot(p.DataFrame({'x': [1, 2], 'y': [1, 2]}), x='x', y='y').figure.savefig('/tmp/a.png')",
    "pyarrow": "import pyarrow as a, pyarrow.parquet as q, pyarrow.csv, pyarrow.compute as c\nt = a.table({'x': list(range(99999))}); q.write_table(t, '/tmp/a.pq'); c.sum(q.read_table('/tmp/a.pq')['x'])",
    "polars": "import polars as p\nd = p.DataFrame({'a': range(99999)}); d.lazy().filter(p.col('a') > 5).select(p.col('a').sum()).collect(); d.write_csv('/tmp/a.csv'); p.read_csv('/tmp/a.csv'); d.write_parquet('/tmp/a.pq'); p.scan_parquet('/tmp/a.pq').collect()",
    "duckdb": "import duckdb\nc = duckdb.connect('/tmp/a.duckdb'); c.execute('create table t as select range a from range(99999)'); c.execute('select sum(a) from t').fetchall(); c.execute(\"copy t to '/tmp/a.csv'\")",
    "numba": "from numba import njit, prange\nimport numpy as n\n@njit(parallel=True)\ndef f(a):\n    s = 0.0\n    for i in prange(len(a)): s += a[i]\n    return s\nf(n.ones(9999))",
    "numexpr": "import numexpr as e, numpy as n\na = n.ones(999999); e.evaluate('a * 2 + a').sum()",
    "sympy": "import sympy as s\nx = s.symbols('x'); s.integrate(s.sin(x) ** 2, x); s.solve(x ** 2 - 2); s.latex(x)",
    "networkx": "import networkx as n\ng = n.erdos_renyi_graph(60, 0.2, seed=1); n.shortest_path(g, 0); n.betweenness_centrality(g)",
    "statsmodels": "import statsmodels.api as s, numpy as n\ns.OLS(n.random.rand(99), s.add_constant(n.random.rand(99, 2))).fit().summary()",
    "cryptography": "from cryptography.fernet import Fernet\nf = Fernet(Fernet.generate_key()); f.decrypt(f.encrypt(b'x'))\nfrom cryptography.hazmat.primitives.asymmetric import rsa, ed25519\nrsa.generate_private_key(65537, 2048); ed25519.Ed25519PrivateKey.generate()",
    "pynacl": "import nacl.secret, nacl.utils, nacl.pwhash\nb = nacl.secret.SecretBox(nacl.utils.random(32)); b.decrypt(b.encrypt(b'x')); p = nacl.pwhash.argon2id; p.kdf(32, b'x', b'y' * 16, p.OPSLIMIT_INTERACTIVE, p.MEMLIMIT_INTERACTIVE)",
    "requests": "import requests\ntry: requests.get('http://127.0.0.1:9/', timeout=1)\nexcept requests.RequestException: pass",
    "httpx": "import httpx\ntry: httpx.get('http://127.0.0.1:9/', timeout=1)\nexcept httpx.HTTPError: pass",
    "aiohttp": "import asyncio, aiohttp\nasync def m():\n    async with aiohttp.ClientSession() as s:\n        try: await s.get('http://127.0.0.1:9/')\n        except aiohttp.ClientError: pass\nasyncio.run(m())",
    "uvloop": "import asyncio, uvloop\nasync def m():\n    p = await asyncio.create_subprocess_exec('true'); await p.wait(); s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0); s.close()\nuvloop.run(m())",
    "gevent": "import gevent.monkey; gevent.monkey.patch_all()\nimport gevent, subprocess\ngevent.joinall([gevent.spawn(gevent.sleep, 0.01)]); subprocess.run(['true'])",
    "psutil": "import psutil\np = psutil.Process(); p.memory_info(); p.cpu_times(); p.open_files(); psutil.virtual_memory(); psutil.cpu_percent(0.01); psutil.net_if_addrs(); psutil.disk_usage('/'); p.num_threads(); p.children()",
    "pyzmq": "import zmq\nc = zmq.Context(); a = c.socket(zmq.PAIR); n = a.bind_to_random_port('tcp://127.0.0.1'); b = c.socket(zmq.PAIR); b.connect(f'tcp://127.0.0.1:{n}'); b.send(b'x'); a.recv(); c.destroy()",
    "grpcio": "import grpc\nfrom concurrent import futures\ns = grpc.server(futures.ThreadPoolExecutor(2)); n = s.add_insecure_port('127.0.0.1:0'); s.start(); grpc.insecure_channel(f'127.0.0.1:{n}').close(); s.stop(0).wait()",
    "pexpect": "import pexpect.popen_spawn as p\np.PopenSpawn('echo x').expect('x')",
    "openpyxl": "import openpyxl\nw = openpyxl.Workbook(); w.active.append([1, 2]); w.save('/tmp/a.xlsx'); openpyxl.load_workbook('/tmp/a.xlsx')",
    "xlsxwriter": "import xlsxwriter\nw = xlsxwriter.Workbook('/tmp/a.xlsx'); w.add_worksheet().write(0, 0, 1); w.close()",
    "python-docx": "import docx\nd = docx.Document(); d.add_paragraph('x'); d.save('/tmp/a.docx')",
    "pypdf": "import pypdf\nw = pypdf.PdfWriter(); w.add_blank_page(99, 99); w.write('/tmp/a.pdf'); pypdf.PdfReader('/tmp/a.pdf').pages[0]",
    "reportlab": "from reportlab.pdfgen.canvas import Canvas\nc = Canvas('/tmp/a.pdf'); c.drawString(9, 9, 'x'); c.save()",
    "sqlalchemy": "import sqlalchemy as s\ne = s.create_engine('sqlite:////tmp/a.db')\nwith e.begin() as c: c.execute(s.text('select 1'))",
    "filelock": "import filelock\nwith filelock.FileLock('/tmp/a.lock', timeout=1): pass",
    "joblib": "import joblib\njoblib.dump({'a': 1}, '/tmp/a.job'); joblib.load('/tmp/a.job'); joblib.Parallel(2, backend='threading')(joblib.delayed(abs)(n) for n in range(9))",
    "jinja2": "import jinja2\njinja2.Template('{{ a }}').render(a=1)",
    "tornado": "import tornado.ioloop, tornado.web, asyncio\nasync def m():\n    tornado.web.Application([]).listen(0, '127.0.0.1')\nasyncio.run(m())",
    "flask": "import flask\na = flask.Flask('x'); a.test_client().get('/')",
    "django": "import django\nfrom django.conf import settings\nsettings.configure(); django.setup()",
    "imageio": "import imageio.v3 as i, numpy as n\ni.imwrite('/tmp/a.png', n.zeros((9, 9), 'u1')); i.imread('/tmp/a.png')",
    "tokenizers": "from tokenizers import Tokenizer, models, trainers\nt = Tokenizer(models.BPE()); t.train_from_iterator(['a b c'] * 99, trainers.BpeTrainer(vocab_size=50)); t.encode_batch(['a'] * 99)",
    "shapely": "import shapely\nshapely.Point(0, 0).buffer(1).area",
    "rich": "import rich\nrich.print({'a': 1})",
    "hypothesis": "from hypothesis import given, strategies as s\n@given(s.integers())\ndef t(n): pass\nt()",
    "orjson": "import orjson\norjson.loads(orjson.dumps({'a': 1}))",
    "regex": "import regex\nregex.findall(r'\\p{L}+', 'a b', concurrent=True)",
    "bcrypt": "import bcrypt\nbcrypt.hashpw(b'x', bcrypt.gensalt(4))",
    "nltk": "import nltk\nnltk.stem.PorterStemmer().stem('running')",
    "paramiko": "import paramiko\nparamiko.RSAKey.generate(1024)",
    "ipython": "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.instance().run_cell('1 + 1')",
    "prompt-toolkit": "from prompt_toolkit.formatted_text import HTML\nHTML('<b>x</b>')",
}  # fmt: skip
"""By distribution; what is not named here is imported, and tested with the tests that it ships."""
