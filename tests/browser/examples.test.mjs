/*
 * The pages of `make demo`. Their screenshots are the pictures of the README
 * (docs/images/update.sh copies them).
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, BUILD, clickFrame, drawn, focusGraph, hoverFrame, numbers, open, screenshot, settled, text,
         useBrowser } from './helpers.mjs';

useBrowser();

const SIZE = { viewport: { width: 1000, height: 580 } };

test('a C++ program: template, recursion, inlined frames, a library', async (t) => {
    const page = await open(t, 'example-index', '', SIZE);
    assert.match(await text(page, '#legend'), /Your code.*Libraries.*System.*inlined/);
    assert.equal(await text(page, '#title'), './index');
    await clickFrame(page, 'main');
    const names = await drawn(page);
    assert.ok(names.includes('pack') && names.includes('compress2'), `${names}`);
    const sorts = names.filter((name) => /sorting::sort/.test(name));
    assert.ok(sorts.length > 5, 'the recursion is there, level by level');
    await hoverFrame(page, 'compress2');
    assert.match((await numbers(page, '#tooltip')).Calls, /^1$/);
    await page.screenshot({ path: `${BUILD}/screenshots/example-cpp.png` });
    await focusGraph(page);
    await page.keyboard.press('Shift+R');
    const folded = (await drawn(page)).filter((name) => /sorting::sort/.test(name));
    assert.equal(folded.length, 1);
});

test('a C++ program: the table of functions, and a source line', async (t) => {
    const page = await open(t, 'example-index', '#v=functions', SIZE);
    await page.fill('#query', 'text::split');
    await page.click('.table-row');
    await page.keyboard.press('l');
    const code = await page.locator('.source tr.ran .code').allTextContents();
    assert.ok(code.some((line) => line.includes('std::isalpha')), code.join('\n'));
    await screenshot(page, 'example-source');
    await page.keyboard.press('4');
    await page.fill('#query', '');
    await settled(page);
    await screenshot(page, 'example-functions');
});

test('a Python program', async (t) => {
    const page = await open(t, 'example-life', '', { ...SIZE, colorScheme: 'dark' });
    assert.match(await text(page, '#title'), /life\.py$/);
    assert.match(await text(page, '#summary'), /^\d{2,3},\d{3},\d{3} instructions$/);
    assert.match(await text(page, '#legend'), /Libraries.*Python \d/, 'the interpreter is a library');
    const names = await drawn(page);
    const main = names.find((name) => /^py::main:.*life\.py$/.test(name));
    assert.ok(main, `${names}`);
    await clickFrame(page, main);
    /* An interpreter with debug info has many inlined frames between the two. */
    await page.setViewportSize({ ...SIZE.viewport, height: 3000 });
    await settled(page);
    const step = (await drawn(page)).find((name) => name.startsWith('py::Board.step:'));
    await hoverFrame(page, step);
    assert.equal((await numbers(page, '#tooltip')).Calls, '40');
    await page.setViewportSize(SIZE.viewport);
    await page.keyboard.press('Backspace');
    await screenshot(page, 'example-python');
});

test('the difference of two builds', async (t) => {
    const page = await open(t, 'example-primes', '', SIZE);
    assert.equal(await text(page, '#title'), 'before.flame → after.flame');
    await clickFrame(page, 'find_primes');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await hoverFrame(page, 'divides_evenly');
    assert.match(await text(page, '#tooltip .place'), /vanished frame/);
    assert.equal((await numbers(page, '#tooltip')).Calls, '−29,998 | 29,998 → 0 | gone');
    assert.equal((await boxes(page, 'cross_out')).length, 1);
    await screenshot(page, 'example-diff');
    await page.keyboard.press('6');
    assert.match(await page.locator('.table-row').first().textContent(), /divides_evenly/);
    await screenshot(page, 'example-changes');
});
