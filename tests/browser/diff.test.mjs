/* The differential view. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focused, focusGraph, hash, hoverFrame, numbers, open, rows,
         screenshot, text, useBrowser, walk } from './helpers.mjs';

useBrowser();

const colourOf = (page, name) => page.evaluate((wanted) => {
    const box = window.trueflame.boxes()[0].find((candidate) => candidate.name === wanted);
    const context = document.querySelector('canvas').getContext('2d');
    const [red, green, blue] = context.getImageData(
        (box.left + box.width - 5) * devicePixelRatio, (box.top + 16) * devicePixelRatio, 1, 1).data;
    return red > blue + 8 ? 'orange' : blue > red + 8 ? 'blue' : 'grey';
}, name);

test('the union tree: width by the larger, colour by inclusive change', async (t) => {
    const page = await open(t, 'diff');
    assert.equal(await text(page, '#summary'), '1,030 → 1,000 instructions');
    assert.deepEqual((await drawn(page)).sort(), ['(root)', 'cache', 'format', 'legacy', 'lex', 'log',
                                                  'main', 'parse', 'render']);
    const canvas = await page.locator('canvas').boundingBox();
    const widths = Object.fromEntries((await boxes(page, null)).map((box) => [box.name, box.width]));
    /* 100 + (200 + 350) + 400 + 150 + 80 + (70 + 30) */
    assert.ok(Math.abs(widths.render / canvas.width - 400 / 1380) < 0.002);
    assert.ok(Math.abs(widths.parse / canvas.width - 550 / 1380) < 0.002);
    assert.equal(await colourOf(page, 'parse'), 'orange');
    assert.equal(await colourOf(page, 'render'), 'blue');
    assert.equal(await colourOf(page, 'log'), 'grey');
    assert.equal(await colourOf(page, 'main'), 'blue', 'a parent shows the change below it');
    await screenshot(page, 'diff-light');
});

test('the tooltip has total and self changes, exact and relative', async (t) => {
    const page = await open(t, 'diff');
    await hoverFrame(page, 'parse');
    assert.deepEqual(await numbers(page, '#tooltip'), {
        Total: '+200 | 350 → 550 | +57.14 %', Self: '+100 | 100 → 200 | +100.00 %',
        Calls: '0 | 2 → 2 | ±0 %',
    });
});

test('new, vanished and inlined frames are marked', async (t) => {
    const page = await open(t, 'diff');
    await hoverFrame(page, 'cache');
    assert.match(await text(page, '#tooltip .place'), /new frame/);
    assert.equal((await numbers(page, '#tooltip')).Total, '+150 | 0 → 150 | new');
    await hoverFrame(page, 'legacy');
    assert.match(await text(page, '#tooltip .place'), /vanished frame/);
    assert.equal((await numbers(page, '#tooltip')).Total, '−80 | 80 → 0 | gone');
    await hoverFrame(page, 'format');
    assert.match(await text(page, '#tooltip .place'), /now inlined/);
    assert.match(await text(page, '#legend'), /less.*the same.*more.*\+ new frame.*− vanished frame/);
});

test('width by old and by new, by mouse and keyboard', async (t) => {
    const page = await open(t, 'diff');
    const canvas = await page.locator('canvas').boundingBox();
    await page.selectOption('#width', 'old');
    assert.ok(!(await drawn(page)).includes('cache'));
    assert.ok(Math.abs((await boxes(page, 'render'))[0].width / canvas.width - 400 / 1030) < 0.002);
    await page.focus('#width');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.inputValue('#width'), 'new');
    assert.ok(!(await drawn(page)).includes('legacy'));
    assert.ok(Math.abs((await boxes(page, 'render'))[0].width / canvas.width - 100 / 1000) < 0.002);
    assert.match(hash(page), /w=new/);
});

test('colour by the change of self instead', async (t) => {
    const page = await open(t, 'diff');
    await page.selectOption('#basis', 'self');
    assert.equal(await colourOf(page, 'main'), 'grey', 'main itself did not change');
    assert.equal(await colourOf(page, 'lex'), 'orange');
    await page.focus('#basis');
    await page.keyboard.press('ArrowUp');
    assert.equal(await colourOf(page, 'main'), 'blue');
});

test('the table of what changed most', async (t) => {
    const page = await open(t, 'diff');
    await page.click('text=Changes');
    const list = await rows(page);
    assert.deepEqual(list.slice(0, 4), [
        ['−300', '−300', '400', '100', 'render', 'app'],
        ['+150', '+150', '0', '150', 'cache', 'app'],
        ['+100', '+100', '250', '350', 'lex', 'app'],
        ['+100', '+200', '350', '550', 'parse', 'app'],
    ]);
    assert.deepEqual(list.at(-1).slice(0, 2), ['0', '−30']);
    await page.click('button[data-column=totalChange]');
    assert.equal((await rows(page))[1][4], 'parse');
    await screenshot(page, 'changes');
});

test('by keyboard: walk the tree, go to the changes, open one', async (t) => {
    const page = await open(t, 'diff');
    await walk(page, ['ArrowDown', 'ArrowDown']);
    assert.match((await focused(page)).text, /^parse; Total \+200, 350 → 550, \+57\.14 %; Self \+100/);
    await page.keyboard.press('6');
    await page.focus('.table-row[tabindex="0"]');
    await page.keyboard.press('Home');
    assert.equal(await text(page, '#details .name'), 'render');
    await page.keyboard.press('Enter');
    assert.deepEqual(await drawn(page, 0), ['main', 'render']);
    await focusGraph(page, 0);
});

test('steps and bottom-up work on both sides', async (t) => {
    const page = await open(t, 'diff');
    await clickFrame(page, 'lex');
    await page.keyboard.press('m');
    assert.equal(await text(page, '#summary'), '1,030 → 1,000 instructions');
    await page.keyboard.press('0');
    await clickFrame(page, 'parse');
    assert.equal((await numbers(page)).Self, '+200 | 350 → 550 | +57.14 %');
    await page.keyboard.press('2');
    await hoverFrame(page, 'parse');
    assert.equal((await numbers(page, '#tooltip'))['Through here'], '+200 | 350 → 550 | +57.14 %');
});
