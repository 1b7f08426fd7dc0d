#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of style that no compiler makes.

usage: style.py style|functions|paths|house

style      files of at most 1,500 lines, lines of at most 100 columns, no tabs in C, the SPDX line,
           no notes of work to do, no typedef'd struct, no blank in a file's name; the guard of a
           header of src/; no comment or text of a row in src/ that begins "The same", because
           each is read alone; a numbered item of a comment goes on under its text, which the
           formatter does not see to; a state of Lua is made, entered from outside and kept beyond
           a call by src/script/engine.c alone, which the check first tries on lines that are made
           up
functions  C functions of at most 70 lines, unless a comment in or right above them has the words
           "longer than a screen:" and the reason; no function-local statics but constants
paths      every path that ARCHITECTURE.md, CONTRIBUTING.md, README.md and the folders' README.md
           name in backquotes exists (a folder's README names its own files without the folder);
           a path on a line with the word "missing" or "later" need not. Of ARCHITECTURE.md: each
           function before a path in brackets is defined in that file, and each other name with a
           "_" in src/; in the table of Redis' files a name without a folder is of the folder
           before it, and a function is defined in a file of its cell
house      no folder of src/ has more than 30 C files, nor more than 6,500 lines of C and headers
           but commands/ and ds/; each has a README.md of at most a page, which names in backquotes
           each of its files and none that is not there (x.c and x.h count as one, `x.h` or
           `x.c`), .ci/run runs the README's test command, README quotes every package of the groups
           build and test, no file is what a patch, a merge or an editor has left
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE_LINES = 1500
LEFT_OVER = ('.orig', '.rej', '.bak', '.swp', '.patch', '~')
LINE_COLUMNS = 100
FUNCTION_LINES = 70
FOLDER_FILES, FOLDER_LINES = 30, 6500
# Many files beside each other that know nothing of each other: families of commands, structures.
WIDE_FOLDERS = {'commands', 'ds'}
README_LINES = 70
EXCUSE = re.compile(r'longer than a screen:\s*\S')
SKIPPED_FOLDERS = {'.git', 'build', '__pycache__', 'corpus'}
CODE = ('.c', '.h', '.py', '.sh', '.tcl')
BRACES = re.compile(r'[{};]')
# What only the file that has the state of Lua at hand may call, or have outside its functions.
LUA_DOOR = 'src/script/engine.c'
LUA_OUTSIDE = re.compile(r'\b(luaL?_newstate|lua_open|lua_close|lua_cpcall|lua_atpanic)\b|'
                         r'^\w[^()]*\blua_State\s*\*\s*(const\s+)?\w+\s*(=[^;]*|\[[^;]*)?;')
# The beginning of a comment or of a text that wants to be read with the one above it.
LEANS = re.compile(r'(?:/\*+\s*|")The same\b')
NUMBERED = re.compile(r' \* +\d+\. ')
LOCAL_STATIC = re.compile(r'(?<![\w])(static|_Thread_local|__thread)\b')
# Constant itself: "static const char names[]", "static const char *const names[]".
CONSTANT = re.compile(r'static const (?:[^=;*]*\*\s*const\b)?[^=;*]*[=;]')
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ATTRIBUTE = re.compile(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)')
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.M)
BACKQUOTED = re.compile(r'`([^`\n]+)`')
TOP = ('src/', 'tests/', 'deps/', 'docs/', '.ci/', 'profiles/')


def files(*endings):
    """Paths, relative to the root, of our own files with such an ending (or all)."""
    for base, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if not endings or name.endswith(endings):
                yield os.path.relpath(os.path.join(base, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), errors='replace') as file:
        return file.read()


def is_script(path):
    """True for programs without an ending, by their first line."""
    if os.path.splitext(path)[1] or not os.access(os.path.join(ROOT, path), os.X_OK):
        return False
    with open(os.path.join(ROOT, path), 'rb') as file:
        return file.read(2) == b'#!'


def is_past_door(path, line):
    """True for a line that makes, enters, frees or keeps a state of Lua where none may."""
    return path.startswith('src/') and path != LUA_DOOR and bool(LUA_OUTSIDE.search(line))


def try_door():
    for line in ('    lua_State *L = lua_newstate(allocate, NULL);', '    L = luaL_newstate();',
                 '    return lua_cpcall(L, run, context);', '    lua_close(e->L);',
                 '    lua_atpanic(L, on_panic);', 'static lua_State *state;',
                 'static struct lua_State *state = NULL;', 'struct lua_State *states[2];',
                 'extern lua_State * const state;', '_Thread_local lua_State *L;'):
        assert is_past_door('src/script/script.c', line), line
        assert not is_past_door(LUA_DOOR, line), line
        assert not is_past_door('tests/c/script/test_engine.c', line), line
    for line in ('    lua_State *L;', '    lua_State *L = convert->L;',
                 'static int run(lua_State *L) {', 'static void show(struct lua_State *L, int at);',
                 '    lua_pcall(L, 0, 0, 0);'):
        assert not is_past_door('src/script/script.c', line), line


def is_cut_item(line, following):
    """True for a numbered item of a comment whose next line stands under its number: a line that
    the formatter has cut. A line that begins a sentence of its own would have had room for more."""
    if not NUMBERED.match(line) or not re.match(r' \* \S', following):
        return False
    return len(line) + len(following.split()[1]) >= LINE_COLUMNS


def try_cut_items():
    item = ' *  2. ' + 'word ' * 18 + 'ends'
    assert is_cut_item(item, ' * here.')
    assert not is_cut_item(item, ' *     here.')
    assert not is_cut_item(item, ' */')
    assert not is_cut_item(' *  2. It ends.', ' * Another sentence.')


def guard_of(path):
    """src/base/string.h -> EVENKEEL_BASE_STRING_H"""
    return 'EVENKEEL_' + re.sub(r'[^A-Z0-9]', '_', path[len('src/'):].upper())


def check_style(faults):
    try_door()
    try_cut_items()
    for path in files():
        if any(blank in path for blank in ' \t\n'):
            faults.append(f'{path!r}: a blank in the name')
        if not path.endswith(CODE) and not is_script(path):
            continue
        text = read(path)
        if path.startswith('src/') and path.endswith('.h'):
            guard = guard_of(path)
            if f'#ifndef {guard}\n#define {guard}\n' not in text:
                faults.append(f'{path}: wants the guard {guard}')
        lines = text.split('\n')
        if len(lines) - 1 > FILE_LINES:
            faults.append(f'{path}: {len(lines) - 1} lines, more than {FILE_LINES}')
        if not any('SPDX-License-Identifier: BSD-3-Clause' in line for line in lines[:3]):
            faults.append(f'{path}:1: no SPDX line in the first three')
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_COLUMNS:
                faults.append(f'{path}:{number}: {len(line)} columns, more than {LINE_COLUMNS}')
            if re.search(r'\b(TO' r'DO|FIX' r'ME|XX' r'X)\b(?!\w)', line):
                faults.append(f'{path}:{number}: a note of work to do belongs into ARCHITECTURE.md '
                              '(what is missing)')
            if path.endswith(('.c', '.h')):
                if path.startswith('src/') and LEANS.search(line):
                    faults.append(f'{path}:{number}: begins "The same", and is read alone')
                if is_past_door(path, line):
                    faults.append(f'{path}:{number}: a state of Lua outside a protected call; '
                                  f'engine_enter ({LUA_DOOR}) gives one')
                if number < len(lines) and is_cut_item(line, lines[number]):
                    faults.append(f'{path}:{number}: the item goes on under its number')
                if '\t' in line:
                    faults.append(f'{path}:{number}: a tab')
                if re.match(r'\s*typedef\s+(struct|union|enum)\b', line):
                    faults.append(f'{path}:{number}: structs, unions and enums are not typedef\'d')


def blank_out(text):
    """The text with comments, strings and preprocessor lines blanked; length and lines stay."""
    def hide(match):
        return re.sub(r'[^\n]', ' ', match[0])
    return DIRECTIVE.sub(hide, NOT_CODE.sub(hide, text))


def functions(text):
    """Yields (first line, last line, name, offset of '{', offset of '}'), lines counted from 1."""
    code = blank_out(text)
    depth, start, head, opened = 0, 0, '', 0
    for match in BRACES.finditer(code):
        at = match.start()
        if match[0] == '{':
            if depth == 0:
                head, opened = code[start:at], at
            depth += 1
        elif match[0] == '}':
            depth -= 1
            if depth == 0:
                # A body follows its parameters or an attribute; an initialiser follows "=".
                # void (*name(int x))(int y) returns a function.
                name = re.search(r'(\w+)\s*\((?!\s*\*)', ATTRIBUTE.sub('', head))
                if name and head.rstrip().endswith(')') and '=' not in head:
                    first = text.count('\n', 0, start + len(head) - len(head.lstrip())) + 1
                    yield first, text.count('\n', 0, at) + 1, name[1], opened, at
                start = at + 1
        elif depth == 0:
            start = at + 1


def comment_above(lines, first):
    """The lines of the comment that ends right above line `first`."""
    at = first - 2
    while at >= 0 and lines[at].strip() and not lines[at].startswith('}'):
        if lines[at].lstrip().startswith(('/*', '//')):
            return '\n'.join(lines[at:first - 1])
        at -= 1
    return ''


def check_functions(faults):
    for path in files('.c', '.h'):
        text = read(path)
        lines = text.split('\n')
        code = blank_out(text)
        for first, last, name, opened, closed in functions(text):
            length = last - first + 1
            if length > FUNCTION_LINES:
                near = comment_above(lines, first) + '\n'.join(lines[first - 1:last])
                if not EXCUSE.search(near):
                    faults.append(f'{path}:{first}: {name} has {length} lines, more than '
                                  f'{FUNCTION_LINES}, and no comment "longer than a screen: why"')
            for match in LOCAL_STATIC.finditer(code, opened, closed):
                if CONSTANT.match(code, match.start()):
                    continue
                number = text.count('\n', 0, match.start()) + 1
                faults.append(f'{path}:{number}: a static inside {name}; state is the file\'s')


def documents():
    yield from ('ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md')
    yield from (path for path in files('README.md') if path.startswith('src/'))


def check_paths(faults):
    for path in documents():
        if not os.path.exists(os.path.join(ROOT, path)):
            faults.append(f'{path}: is missing')
            continue
        fenced = False
        for number, line in enumerate(read(path).split('\n'), 1):
            fenced ^= line.startswith('```')
            if fenced or re.search(r'\b(missing|later)\b', line):
                continue
            for name in BACKQUOTED.findall(line):
                if path.startswith('src/') and re.fullmatch(r'\w+\.[ch]', name):
                    name = os.path.join(os.path.dirname(path), name)  # of the folder itself
                if name.startswith(TOP) and not re.search(r'[<>*\s]', name):
                    name = name.split(':')[0]
                    if not os.path.exists(os.path.join(ROOT, name)):
                        faults.append(f'{path}:{number}: `{name}` does not exist')
    check_architecture(faults)


def defines(paths, name):
    """True where a function (or a macro with arguments) of this name stands in one of the files."""
    found = re.compile(rf'^(?:#define {name}\(|(?![\s/*#}}])[^=;]*?\b{name}\()', re.M)
    return any(found.search(read(path)) for path in paths)


def check_cell(cell, faults):
    """A cell of the table of Redis' files: paths, names beside them, and what they define."""
    folder, there, functions_named = None, [], []
    for name in BACKQUOTED.findall(cell):
        if re.fullmatch(r'\w+\.[ch]', name) and folder:
            name = f'{folder}/{name}'
            if not os.path.exists(os.path.join(ROOT, name)):
                faults.append(f'ARCHITECTURE.md: `{name}` does not exist')
        if re.fullmatch(r'src/\w+/\w+\.[ch]', name):
            folder = os.path.dirname(name)
            stem = os.path.splitext(name)[0]
            there += [stem + end for end in '.c .h'.split()
                      if os.path.exists(os.path.join(ROOT, stem + end))]
        elif re.fullmatch(r'[a-z]\w*_\w+', name):
            functions_named.append(name)
    for name in functions_named:
        if not defines(there, name):
            faults.append(f'ARCHITECTURE.md: `{name}` is not defined in the files of its cell')


def check_architecture(faults):
    text = re.sub(r'^```.*?^```', '', read('ARCHITECTURE.md'), flags=re.M | re.S)
    before, _, rest = text.partition('## Where did X of Redis go?')
    table, _, after = rest.partition('\n## ')
    for line in table.split('\n'):
        if line.startswith('| ') and line.count(' | ') == 1:
            check_cell(line.split(' | ')[1], faults)
    prose = before + after
    for name, path in re.findall(r'`([a-z]\w*)`\s+\(`(src/\w+/\w+\.[ch])`', prose):
        if os.path.exists(os.path.join(ROOT, path)) and not defines([path], name):
            faults.append(f'ARCHITECTURE.md: `{name}` is not defined in {path}')
    sources = [path for path in files('.c', '.h') if path.startswith('src/')]
    whole = '\n'.join(read(path) for path in sources)
    for name in sorted(set(re.findall(r'`([a-z]\w*_\w+)`', prose))):
        if not re.search(rf'^(?![\s/*#}}])[^=;\n]*\b{name}\(', whole, re.M):
            faults.append(f'ARCHITECTURE.md: `{name}` is no function of src/')


def check_readme(folder, path, faults):
    """A folder's README against its files, both ways."""
    text = read(path)
    if text.count('\n') > README_LINES:
        faults.append(f'{path}: longer than a page ({README_LINES} lines)')
    there = {os.path.basename(file) for file in glob.glob(os.path.join(folder, '*.[ch]'))}
    named = {name for name in BACKQUOTED.findall(text) if re.fullmatch(r'\w+\.[ch]', name)}
    stems = {os.path.splitext(name)[0] for name in named}
    for name in sorted(named - there):
        faults.append(f'{path}: names `{name}`, which is not there')
    for stem in sorted({os.path.splitext(name)[0] for name in there} - stems):
        faults.append(f'{path}: does not name `{stem}` (.c or .h)')


def check_size(folder, faults):
    """A folder's files and lines."""
    paths = glob.glob(os.path.join(folder, '*.[ch]'))
    sources = sum(path.endswith('.c') for path in paths)
    lines = sum(read(path).count('\n') for path in paths)
    place = os.path.relpath(folder, ROOT)
    if sources > FOLDER_FILES:
        faults.append(f'{place}: {sources} C files, more than {FOLDER_FILES}')
    if lines > FOLDER_LINES and os.path.basename(place) not in WIDE_FOLDERS:
        faults.append(f'{place}: {lines} lines, more than {FOLDER_LINES}')


def check_house(faults):
    for folder in sorted(glob.glob(os.path.join(ROOT, 'src/*/'))):
        check_size(folder, faults)
        path = os.path.join(os.path.relpath(folder, ROOT), 'README.md')
        if os.path.exists(os.path.join(ROOT, path)):
            check_readme(folder, path, faults)
        else:
            faults.append(f'{path}: is missing')
    faults += [f'{path}: is left over' for path in files(*LEFT_OVER)]
    readme = read('README.md')
    commands = re.findall(r'^sh deps/install\.sh.*$', readme, re.M)
    if len(commands) != 2:
        faults.append('README.md: wants two lines that start with "sh deps/install.sh": one to '
                      'start the server, one to test')
    elif commands[1] not in read('.ci/run'):
        faults.append(f'.ci/run: does not run the README\'s test command: {commands[1]}')
    for line in read('deps/packages.txt').split('\n'):
        if line.startswith(('build ', 'test ')):
            for name in line.split()[1].split('|')[:1]:
                if f'`{name}`' not in readme:
                    faults.append(f'README.md: does not name the package `{name}` of '
                                  'deps/packages.txt')


def main():
    checks = {'style': check_style, 'functions': check_functions, 'paths': check_paths,
              'house': check_house}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    faults = []
    checks[sys.argv[1]](faults)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
