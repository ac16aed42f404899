/* Pages that the program wrote of a real recording, against what `report` and `diff` say of it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { boxes, clickFrame, numbers, open, PAGES, rows, screenshot, text, useBrowser }
    from './helpers.mjs';

useBrowser();

const expected = (name) => JSON.parse(readFileSync(`${PAGES}/${name}.json`, 'utf8'));
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');

test('the table of functions is that of report', async (t) => {
    const page = await open(t, 'program', '#v=functions', { viewport: { width: 1200, height: 6000 } });
    const { total_instructions: total, functions } = expected('program');
    assert.equal(await text(page, '#summary'), `${grouped(total)} instructions`);
    const shown = new Map((await rows(page)).map((row) => [row[3], row.slice(0, 3).join(' ')]));
    let compared = 0;
    for (const one of functions) {
        const twins = functions.filter((other) => other.name === one.name);
        if (twins.length > 1 || !shown.has(one.name))
            continue;
        assert.equal(shown.get(one.name),
                     [one.self, one.total, one.calls].map(grouped).join(' '), one.name);
        compared++;
    }
    assert.ok(compared > 20, `${compared} functions compared`);
    for (const name of ['main', 'work', 'leaf', 'inner', 'recurse'])
        assert.ok(shown.has(name), name);
});

test('its source lines are shown with the text', async (t) => {
    const page = await open(t, 'program', '#v=functions');
    await page.fill('#query', '^leaf$');
    await page.click('#regex');
    await page.click('.table-row');
    await page.keyboard.press('l');
    const code = await page.locator('.source tr.ran .code').allTextContents();
    assert.ok(code.some((line) => line.includes('sink ^= i;')), code.join('\n'));
    const leaf = expected('program').functions.find((one) => one.name === 'leaf');
    const counts = await page.locator('.source tr.ran td:nth-child(2)').allTextContents();
    assert.equal(counts.reduce((sum, count) => sum + Number(count.replaceAll(',', '')), 0),
                 leaf.self);
});

test('inlined frames of a real program', async (t) => {
    const page = await open(t, 'program', '');
    await page.fill('#query', '^work$');
    await page.click('#regex');
    await page.keyboard.press('Tab');
    await page.focus('#query');
    await page.keyboard.press('Enter');
    await page.focus('[role=treeitem][tabindex="0"]');
    await page.keyboard.press('Enter');
    const inlined = (await boxes(page, null)).filter((box) => box.inlined).map((box) => box.name);
    assert.ok(inlined.includes('outer') && inlined.includes('inner'), `${inlined}`);
    assert.equal((await boxes(page, 'leaf'))[0].inlined, false);
    await screenshot(page, 'program');
});

test('the difference is that of diff', async (t) => {
    const page = await open(t, 'program-diff', '#v=changes');
    const { total_instructions: total, functions } = expected('program-diff');
    assert.equal(await text(page, '#summary'),
                 `${grouped(total.base)} → ${grouped(total.new)} instructions`);
    const signed = (number) => (number > 0 ? '+' : '') + grouped(number).replace('-', '−');
    const top = functions.slice(0, 3).map((one) => [signed(one.self.change),
                                                    signed(one.total.change), one.name]);
    const shown = (await rows(page)).map((row) => [row[0], row[1], row[4]]);
    assert.deepEqual(shown.slice(0, 3).sort(), top.sort(), 'two of them changed by as much');
    await page.keyboard.press('1');
    await page.fill('#query', 'work');
    await page.keyboard.press('Enter');
    assert.match((await numbers(page)).Total, /^\+/);
    await clickFrame(page, 'work');
});
