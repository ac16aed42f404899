/* Searching: by text, by regular expression, the share counted once per path, next and previous. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { boxes, focused, focusGraph, hash, open, rows, screenshot, settled, text, useBrowser, walk }
    from './helpers.mjs';

useBrowser();

const found = (page) => text(page, '#found');

test('text: marked frames, and the share of each path once', async (t) => {
    const page = await open(t, 'app');
    await page.fill('#query', 'FIB');
    assert.equal(await found(page), '1 function, 700 (23.33 %)');
    await screenshot(page, 'search');
    const colours = await page.evaluate(() => {
        const context = document.querySelector('canvas').getContext('2d');
        return window.trueflame.boxes()[0].filter((box) => box.name === 'fib' && box.width > 40)
            .map((box) => [...context.getImageData((box.left + box.width - 4) * devicePixelRatio,
                (box.top + 15) * devicePixelRatio, 1, 1).data].slice(0, 3).join());
    });
    assert.equal(new Set(colours).size, 1);
    assert.equal(colours[0], '122,47,181', 'the colour of a match');
});

test('regular expression, switched by mouse', async (t) => {
    const page = await open(t, 'app');
    await page.fill('#query', '^(fib|step)$');
    assert.equal(await found(page), 'no match');
    await page.click('#regex');
    assert.equal(await page.getAttribute('#regex', 'aria-pressed'), 'true');
    assert.equal(await found(page), '2 functions, 900 (30.00 %)',
                 'step under fib is in fib already');
    await page.fill('#query', '(');
    assert.equal(await found(page), 'not a regular expression');
    assert.equal(await page.getAttribute('#query', 'aria-invalid'), 'true');
    await page.fill('#query', '');
    assert.equal(await page.getAttribute('#query', 'aria-invalid'), 'false');
});

test('by keyboard: slash, type, walk the matches, escape', async (t) => {
    const page = await open(t, 'app');
    await focusGraph(page);
    await page.keyboard.press('/');
    await page.keyboard.type('memcpy');
    assert.equal(await found(page), '1 function, 200 (6.67 %)');
    await page.keyboard.press('Enter');
    const texts = [];
    await focusGraph(page);
    texts.push((await focused(page)).text);
    await page.keyboard.press('n');
    texts.push((await focused(page)).text);
    assert.match(texts[0], /^memcpy; Total (150|50)/);
    assert.match(texts[1], /^memcpy; Total (150|50)/);
    assert.notEqual(texts[0], texts[1]);
    await page.keyboard.press('Shift+N');
    assert.equal((await focused(page)).text, texts[0]);
    await page.keyboard.press('Escape');
    assert.equal(await page.inputValue('#query'), '');
    assert.equal(await found(page), '');
});

test('the regular expression switch is reached and worked by keyboard', async (t) => {
    const page = await open(t, 'app');
    await page.focus('#query');
    await page.keyboard.type('^f.b$');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    assert.equal(await found(page), '1 function, 700 (23.33 %)');
});

test('a search holds after steps and in the other views', async (t) => {
    const page = await open(t, 'app');
    await page.fill('#query', 'memcpy');
    await settled(page);
    await walk(page, ['ArrowDown', 'ArrowDown', 'h']);
    assert.equal(await found(page), '1 function, 150 (6.82 %)');
    await page.keyboard.press('4');
    assert.deepEqual((await rows(page)).map((row) => row[3]), ['memcpy'], 'the table is filtered');
    await page.keyboard.press('2');
    assert.equal(await found(page), '1 function, 150 (6.82 %)');
    assert.match(hash(page), /q=memcpy/);
});

test('the name of a frame is searched with one key', async (t) => {
    const page = await open(t, 'app');
    await walk(page, ['ArrowDown', 'e']);
    assert.equal(await page.inputValue('#query'), 'main');
    assert.equal(await found(page), '1 function, 2,200 (73.33 %)');
    assert.equal((await boxes(page, 'main')).length, 1);
});

test('frames under a pixel show that one of them matches', async (t) => {
    const page = await open(t, 'crowd');
    const colour = () => page.evaluate(() => {
        const box = window.trueflame.boxes()[0].find((candidate) => candidate.merged);
        const context = document.querySelector('canvas').getContext('2d');
        const data = context.getImageData((box.left + 2) * devicePixelRatio,
                                          (box.top + 5) * devicePixelRatio, 8, 8).data;
        for (let i = 0; i < data.length; i += 4) {
            if (data[i] === 122 && data[i + 1] === 47 && data[i + 2] === 181)
                return true;
        }
        return false;
    });
    assert.equal(await colour(), false);
    await page.fill('#query', 'narrow_4321');
    assert.equal(await found(page), '1 function, 1 (< 0.01 %)');
    assert.equal(await colour(), true);
});
