/* Process, thread and part; and what is in the address. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, clickFrame, drawn, focusGraph, go, hash, numbers, open, rows, settled, text, trail,
         useBrowser, walk } from './helpers.mjs';

useBrowser();

const summary = (page) => text(page, '#summary');

test('thread, process and part are chosen by mouse', async (t) => {
    const page = await open(t, 'app');
    await page.selectOption('#thread', { label: '1/2 worker' });
    assert.equal(await summary(page), '800 instructions');
    assert.deepEqual(await drawn(page), ['(root)', 'worker', 'fib']);
    await page.selectOption('#thread', { label: 'All threads' });
    await page.selectOption('#process', { label: '2 ./app --child' });
    assert.equal(await summary(page), '500 instructions');
    assert.deepEqual(await drawn(page), ['(root)', 'main', 'inflate']);
    await page.selectOption('#process', { label: 'All processes' });
    await page.selectOption('#part', { label: 'warm-up' });
    assert.equal(await summary(page), '100 instructions');
    await page.selectOption('#thread', { label: '1/2 worker' });
    assert.equal(await summary(page), '0 instructions', 'that thread did nothing in that part');
    assert.deepEqual(page.problems, []);
});

test('and by keyboard', async (t) => {
    const page = await open(t, 'app');
    await page.focus('#part');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.inputValue('#part'), '0');
    assert.equal(await summary(page), '100 instructions');
    await page.focus('#thread');
    await page.keyboard.press('ArrowDown');
    assert.equal(await summary(page), '100 instructions');
    await page.focus('#part');
    await page.keyboard.press('ArrowDown');
    assert.equal(await summary(page), '1,600 instructions');
});

test('choices hold in tables, back takes them back', async (t) => {
    const page = await open(t, 'app', '#v=functions');
    await page.selectOption('#thread', '1');
    assert.deepEqual(await rows(page), [['500', '500', '7', 'fib', 'app'],
                                        ['300', '800', '1', 'worker', 'app']]);
    await page.goBack();
    assert.equal((await rows(page)).length, 12);
});

test('everything one sees is in the address: a reload shows the same', async (t) => {
    const page = await open(t, 'app');
    await page.selectOption('#process', '0');
    await page.selectOption('#colour', 'object');
    await clickFrame(page, 'helper');
    await page.keyboard.press('m');
    await page.keyboard.press('0');
    await page.click('#upward');
    await page.fill('#query', '^f');
    await page.click('#regex');
    await clickFrame(page, 'main');
    await clickFrame(page, 'fib');
    await settled(page);
    const seen = async () => ({
        boxes: await boxes(page, null), summary: await summary(page), trail: await trail(page),
        found: await text(page, '#found'), numbers: await numbers(page),
        name: await text(page, '#details .name'), colour: await page.inputValue('#colour'),
        process: await page.inputValue('#process'), turned: await text(page, '#upward'),
    });
    const before = await seen();
    assert.equal(before.name, 'fib');
    const address = page.url();
    await page.reload();
    await page.waitForSelector('html.ready');
    assert.deepEqual(await seen(), before);
    const other = await open(t, 'app', new URL(address).hash);
    assert.deepEqual(await boxes(other, null), before.boxes, 'a link shows the same');
});

test('scrolling and sorting are in the address too', async (t) => {
    const page = await open(t, 'crowd', '#v=functions');
    await page.click('button[data-column=name]');
    await page.locator('.table-scroll').evaluate((box) => { box.scrollTop = 26 * 1000; });
    await settled(page);
    assert.match(hash(page), /k=name.*y=1000/);
    const before = await page.locator('.table-row').first().textContent();
    await page.reload();
    await page.waitForSelector('html.ready');
    assert.equal(await page.locator('.table-row').first().textContent(), before);
});

test('an address that makes no sense shows the page all the same', async (t) => {
    const page = await open(t, 'app');
    for (const fragment of ['#v=nonsense&z=99999999&n=88888888', '#s=x1.f999999.h-1.m&th=77&pr=-5',
                            '#q=%E0%A4%A&re=1', '#z=1e9&y=99999999999&f=abc', '#v=changes&c=change',
                            '#v=sandwich&f=99999', '#__proto__=1&constructor=2', '#v=bottom&z=5000']) {
        await page.goto('about:blank');
        await go(page, 'app', fragment);
        assert.match(await summary(page), /instructions/, fragment);
    }
});

test('typing an address while the page is open goes there', async (t) => {
    const page = await open(t, 'app');
    await page.evaluate(() => { location.hash = '#v=functions&k=calls'; });
    await page.waitForSelector('.table-row');
    assert.equal((await rows(page))[0][3], 'memcpy');
    await page.goBack();
    assert.ok((await drawn(page)).includes('main'));
});

test('selecting does not fill the history, zooming does', async (t) => {
    const page = await open(t, 'app');
    const length = () => page.evaluate(() => history.length);
    const start = await length();
    await walk(page, ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowLeft']);
    await settled(page);
    assert.equal(await length(), start);
    await page.keyboard.press('Enter');
    assert.equal(await length(), start + 1);
    await focusGraph(page);
});
