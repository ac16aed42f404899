/* Large counts, deep stacks. (A million contexts: make bench.) */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focused, focusGraph, go, numbers, open, rows, settled, text,
         useBrowser, walk } from './helpers.mjs';

useBrowser();

test('counts beyond 2^53 are exact to the last digit', async (t) => {
    const page = await open(t, 'huge');
    /* 1 + (2^53 + 1) + (2^63 + 4) */
    assert.equal(await text(page, '#summary'), '9,232,379,236,109,516,806 instructions');
    await clickFrame(page, 'even');
    assert.equal((await numbers(page)).Self, '9,223,372,036,854,775,812 | 99.90 % of all');
    await page.keyboard.press('4');
    assert.deepEqual(await rows(page), [
        ['9,223,372,036,854,775,812', '9,223,372,036,854,775,812', '1', 'even', 'huge'],
        ['9,007,199,254,740,993', '9,007,199,254,740,993', '1,152,921,504,606,846,983', 'odd',
         'huge'],
        ['1', '9,232,379,236,109,516,806', '9,007,199,254,740,993', 'main', 'huge'],
    ]);
    await page.fill('#query', 'odd');
    assert.match(await text(page, '#found'), /9,007,199,254,740,993 \(0\.10 %\)/);
});

test('a stack 100,000 deep opens, scrolls, zooms and folds', async (t) => {
    const page = await open(t, 'deep');
    assert.equal(await text(page, '#summary'), '300,007 instructions');
    await page.locator('.graph').evaluate((graph) => { graph.scrollTop = 20 * 50000; });
    await settled(page);
    const names = await drawn(page);
    assert.ok(names.length > 20 && names.every((name) => name === 'down' || name === 'up'));
    await clickFrame(page, 'down');
    assert.match((await focused(page)).text, /^down; Total 15[0-9],\d{3}, 5\d\.\d\d % of all/);
    assert.match((await focused(page)).level, /^50\d\d\d$/);
    await page.locator('.graph').evaluate((graph) => { graph.scrollTop = graph.scrollHeight; });
    await settled(page);
    const merged = await page.evaluate(() => window.trueflame.boxes()[0]);
    assert.ok(merged.length > 20 && merged.every((box) => box.merged), 'all are under a pixel');
    await go(page, 'deep', '#z=100000&n=100000');
    await page.reload();
    await page.waitForSelector('html.ready');
    assert.ok((await boxes(page, null)).some((box) => box.node === 100000), 'it is in sight');
    await focusGraph(page);
    assert.match((await focused(page)).text, /^down; Total 3, < 0\.01 % of all, 50\.00 % of the caller/);
    assert.equal((await focused(page)).level, '100001');
    await page.keyboard.press('ArrowUp');
    assert.equal((await focused(page)).level, '100000');
    await page.keyboard.press('Shift+R');
    assert.equal(await text(page, '#summary'), '300,007 instructions');
    await page.keyboard.press('0');
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'down', 'up']);
    await clickFrame(page, 'up');
    assert.equal((await numbers(page)).Self, '149,997 | 50.00 % of all');
});

test('the same stack in the other views', async (t) => {
    const page = await open(t, 'deep', '#v=bottom');
    assert.ok((await drawn(page)).includes('up'));
    await page.locator('.graph').evaluate((graph) => { graph.scrollTop = 2000; });
    await settled(page);
    assert.ok((await drawn(page)).length > 20);
    await page.keyboard.press('4');
    assert.deepEqual((await rows(page)).map((row) => row.slice(0, 4)), [
        ['150,000', '299,997', '50,000', 'down'], ['149,997', '299,994', '49,999', 'up'],
        ['10', '300,007', '1', 'main'],
    ]);
    await page.locator('.table-row').nth(1).click();
    await page.keyboard.press('s');
    assert.deepEqual((await drawn(page, 0)), ['main', 'down', 'up']);
    await focusGraph(page, 1);
    await page.keyboard.press('ArrowDown');
    assert.match((await focused(page)).text, /^down; Total 299,991/);
});

test('scrolling sets the row in the address and a reload returns to it', async (t) => {
    const page = await open(t, 'deep', '#y=50000');
    const first = (await boxes(page, null))[0];
    assert.ok(first.top > -20 && first.top <= 0);
    const canvas = await page.locator('canvas').boundingBox();
    await page.mouse.move(canvas.x + 10, canvas.y + 30);
    assert.match(await text(page, '#tooltip'), /Total150,0/);
    await walk(page, []);
});
